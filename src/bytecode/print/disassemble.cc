// Instructions, arguments and whole executables as text: TVM's as_text, statistics, an ExecBuilder script.
#include "rldb/bytecode/disassemble.h"

#include <fmt/format.h>

#include "rldb/support/check.h"

namespace rldb::bytecode {
namespace {

// A Python string literal.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string args_text(const Executable& exe, const Instruction& i) {
  std::string text;
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    if (a > 0) text += ", ";
    text += arg_text(exe, i.arg(a));
  }
  return text;
}

std::string python_register(RegName reg) {
  if (reg == kVoidRegister) return "ib.r(\"void\")";
  if (reg == kVmRegister) return "ib.r(\"vm\")";
  return fmt::format("ib.r({})", reg);
}

std::string python_arg(const Executable& exe, Arg arg) {
  switch (arg.kind()) {
    case ArgKind::Register:
      return python_register(arg.reg());
    case ArgKind::Immediate:
      return fmt::format("ib.imm({})", arg.value());
    case ArgKind::Constant:
      return fmt::format("ib.c({})", arg.value());
    case ArgKind::Function:
      return fmt::format("ib.f({})", quoted(exe.functions[std::size_t(arg.value())].name));
  }
  RLDB_UNREACHABLE("argument kind");
}

std::string python_call(const Executable& exe, const Instruction& i) {
  std::string args;
  for (std::size_t a = 0; a < i.args.size(); ++a) {
    if (a > 0) args += ", ";
    args += python_arg(exe, i.arg(a));
  }
  std::string text = fmt::format("ib.emit_call({}, args=[{}]", quoted(exe.functions[std::size_t(i.callee)].name), args);
  if (i.dst != kVoidRegister) text += ", dst=" + python_register(i.dst);
  return text + ")";
}

std::string python_line(const Executable& exe, const Instruction& i) {
  switch (i.op) {
    case Opcode::Call:
      return python_call(exe, i);
    case Opcode::Ret:
      return fmt::format("ib.emit_ret({})", python_register(i.reg));
    case Opcode::Goto:
      return fmt::format("ib.emit_goto({})", i.offset);
    case Opcode::If:
      return fmt::format("ib.emit_if({}, {})", python_register(i.reg), i.offset);
  }
  RLDB_UNREACHABLE("opcode");
}

std::string constant_summary(const runtime::Value& v) {
  std::string text = describe(v);
  constexpr std::size_t kWidth = 60;
  if (text.size() > kWidth) text = text.substr(0, kWidth - 3) + "...";
  return text;
}

}  // namespace

std::string register_text(RegName reg) {
  if (reg == kVoidRegister) return "%void";
  if (reg == kVmRegister) return "%vm";
  return fmt::format("%{}", reg);
}

std::string arg_text(const Executable& exe, Arg arg) {
  switch (arg.kind()) {
    case ArgKind::Register:
      return register_text(arg.reg());
    case ArgKind::Immediate:
      return fmt::format("i{}", arg.value());
    case ArgKind::Constant:
      return fmt::format("c[{}]", arg.value());
    case ArgKind::Function:
      return fmt::format("f[{}]", exe.functions[std::size_t(arg.value())].name);
  }
  RLDB_UNREACHABLE("argument kind");
}

std::string text_note(Pc pc) { return fmt::format("{}{}", kTextNotes, pc); }

std::string instruction_text(const Executable& exe, Pc pc) {
  if (!exe.metadata.empty())
    if (const auto note = exe.metadata.find(text_note(pc)); note != exe.metadata.end()) return note->second;
  Instruction i = exe.instruction(pc);
  std::string text = fmt::format("{:<6}", info(i.op).text);
  switch (info(i.op).shape) {
    case OperandShape::DstCalleeArgs:
      return text + fmt::format("{:<16} in: {:<12} dst: {}", exe.functions[std::size_t(i.callee)].name,
                                args_text(exe, i), register_text(i.dst));
    case OperandShape::Register:
      return text + register_text(i.reg);
    case OperandShape::Offset:
      return text + fmt::format("{}", i.offset);
    case OperandShape::RegisterOffset:
      return text + fmt::format("{}, {}", register_text(i.reg), i.offset);
  }
  RLDB_UNREACHABLE("operand shape");
}

std::string as_text(const Executable& exe) {
  std::string out;
  for (const FunctionEntry& f : exe.functions) {
    switch (f.kind) {
      case FunctionKind::Packed:
        out += fmt::format("@{} packed_func;\n\n", f.name);
        break;
      case FunctionKind::VmTir:
        out += fmt::format("@{} num_inputs={} vm_tir_func;\n\n", f.name, f.num_args);
        break;
      case FunctionKind::Bytecode:
        out += fmt::format("@{}:\n", f.name);
        for (Pc pc = f.start; pc < f.end; ++pc) out += "  " + instruction_text(exe, pc) + "\n";
        out += "\n";
        break;
    }
  }
  return out;
}

std::string stats(const Executable& exe) {
  std::size_t counts[3] = {};
  std::string globals;
  for (const FunctionEntry& f : exe.functions) {
    ++counts[std::size_t(f.kind)];
    if (f.kind == FunctionKind::Packed) continue;
    globals += globals.empty() ? "" : ", ";
    globals += "\"" + f.name + "\"";
  }
  std::string constants;
  for (const runtime::Value& v : exe.constants) {
    constants += constants.empty() ? "" : ", ";
    constants += constant_summary(v);
  }
  std::string out = "Relax VM executable statistics:\n";
  out += fmt::format("  Constant pool (# {}): [{}]\n", exe.constants.size(), constants);
  out += fmt::format("  Globals (# {}): [{}]\n", counts[1] + counts[2], globals);
  out += fmt::format("  Packed functions: {}\n", counts[0]);
  out += fmt::format("  Instructions: {} ({} words)\n", exe.instr_offset.size(), exe.instr_data.size());
  if (!exe.kernels.empty()) out += fmt::format("  Kernels: {}\n", exe.kernels.size());
  out += fmt::format("  Debug info: {}\n", exe.debug.instructions.empty() ? "no" : "yes");
  return out;
}

std::string as_python(const Executable& exe) {
  std::string out = "ib = rx.Builder()\n";
  for (const FunctionEntry& f : exe.functions) {
    if (f.kind != FunctionKind::Bytecode) continue;
    out += fmt::format("with ib.function({}, num_inputs={}):\n", quoted(f.name), f.num_args);
    for (Pc pc = f.start; pc < f.end; ++pc) out += "    " + python_line(exe, exe.instruction(pc)) + "\n";
  }
  return out;
}

}  // namespace rldb::bytecode
