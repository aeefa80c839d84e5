// Texts of executables as TVM prints them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rldb/relay/vm/executable.h"
#include "rldb/support/check.h"

namespace rldb::relay_bytecode {

namespace {

std::string registers(std::span<const Word> list, const char* separator) {
  if (list.empty()) return "$";
  std::string out;
  for (const Word r : list) out += fmt::format("{}${}", out.empty() ? "" : separator, r);
  return out;
}

std::string dims(std::span<const Word> list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

// TVM prints bool tensors with the type under which they were stored.
std::string stored_dtype(runtime::DType t) { return t.is_bool() ? "uint1" : runtime::to_string(t); }

std::string storage_text(const Instruction& i) {
  if (i.has_shape()) return fmt::format("${} {} {} {}", i.dst, dims(i.list), runtime::to_string(i.dtype), i.numbers[1]);
  return fmt::format("${} ${} {} {} {}", i.dst, i.regs[0], i.numbers[0], runtime::to_string(i.dtype), i.numbers[1]);
}

std::string packed_text(const Instruction& i) {
  const std::size_t inputs = i.list.size() - std::size_t(i.numbers[1]);
  return fmt::format("PackedFunc[{}] (in: {}, out: {})", i.numbers[0], registers(i.list.first(inputs), ", "),
                     registers(i.list.subspan(inputs), ", "));
}

std::string operands_text(const Instruction& i, Layout layout) {
  switch (i.op) {
    case Opcode::Move:
    case Opcode::GetTag:
    case Opcode::ShapeOf:
      return fmt::format("${} ${}", i.dst, i.regs[0]);
    case Opcode::Ret:
      return fmt::format("${}", i.regs[0]);
    case Opcode::Invoke:
      return fmt::format("${} VMFunc[{}]({})", i.dst, i.numbers[0], registers(i.list, ","));
    case Opcode::InvokeClosure:
      return fmt::format("${} ${}({})", i.dst, i.regs[0], registers(i.list, ","));
    case Opcode::InvokePacked:
      return packed_text(i);
    case Opcode::AllocTensor:
      return fmt::format("${} ${} ${} {} {}", i.dst, i.regs[0], i.regs[1], dims(i.list), stored_dtype(i.dtype));
    case Opcode::AllocTensorReg:
      return fmt::format("${} ${} ${} ${} {}", i.dst, i.regs[0], i.regs[1], i.regs[2], stored_dtype(i.dtype));
    case Opcode::AllocADT:
      return fmt::format("${} tag({}) [{}]", i.dst, i.numbers[0], registers(i.list, ","));
    case Opcode::AllocClosure:
      return fmt::format("${} VMFunc[{}]({})", i.dst, i.numbers[0], registers(i.list, ","));
    case Opcode::GetField:
      return fmt::format("${} ${}[{}]", i.dst, i.regs[0], i.numbers[0]);
    case Opcode::If:
      return fmt::format("${} ${} {} {}", i.regs[0], i.regs[1], i.numbers[0], i.numbers[1]);
    case Opcode::LoadConst:
      return fmt::format("${} Const[{}]", i.dst, i.numbers[0]) +
             (layout == Layout::C ? fmt::format(" {}", i.numbers[1]) : "");
    case Opcode::Goto:
      return fmt::format("{}", i.numbers[0]);
    case Opcode::LoadConsti:
      return fmt::format("${} {}", i.dst, i.numbers[0]);
    case Opcode::Fatal:
      return "";
    case Opcode::AllocStorage:
      return storage_text(i);
    case Opcode::ReshapeTensor:
      return fmt::format("${} ${} ${}", i.dst, i.regs[0], i.regs[1]);
    case Opcode::DeviceCopy:
      return fmt::format("${} ${} {} {}", i.dst, i.regs[0], i.numbers[1], i.numbers[0]);
    case Opcode::KillRegister:
      return fmt::format("${}", i.dst);
  }
  RLDB_UNREACHABLE("opcode");
}

Layout layout_of_text(const Executable& exe) { return layout_of(exe.version).value_or(Layout::C); }

// `ii: op field field `, followed by the text.
std::string line(const Executable& exe, const FunctionEntry& f, Pc pc) {
  const Layout layout = layout_of_text(exe);
  const std::span<const Word> words = exe.words_of(pc);
  std::string out = fmt::format("{:>2}: {} ", pc - f.start, words[0]);
  FieldsOfWords in_layout = fields_of_words(words, layout);
  if (!in_layout.ok) in_layout.fields.assign(words.begin() + 1, words.end());
  for (const Word word : in_layout.fields) out += fmt::format("{} ", word);
  const std::size_t width = layout == Layout::A ? 0 : 40;
  if (out.size() < width) out.append(width - out.size(), ' ');
  return out + "  # " + instruction_text(exe, pc) + "\n";
}

std::string shape_text(const runtime::Tensor& t) {
  return t.ndim() == 0 ? "scalar" : fmt::format("[{}]", fmt::join(t.shape(), ", "));
}

// The values of a small constant of rank 0 or 1.
std::string values_text(const runtime::Tensor& t) {
  if (t.ndim() > 1 || t.element_count() > 10) return "";
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < t.element_count(); ++i)
    values.push_back(t.dtype().is_bool() ? (t.at(i) != 0 ? "true" : "false") : fmt::format("{}", t.at(i)));
  return fmt::format("=[{}]", fmt::join(values, ","));
}

}  // namespace

std::string instruction_text(const Executable& exe, Pc pc) {
  const Instruction i = exe.instruction(pc);
  const std::string operands = operands_text(i, layout_of_text(exe));
  return std::string(info(i.op).text) + (operands.empty() ? "" : " " + operands);
}

std::string as_text(const Executable& exe) {
  std::string out;
  for (std::size_t i = 0; i < exe.functions.size(); ++i) {
    const FunctionEntry& f = exe.functions[i];
    out += fmt::format("VM Function[{}]: {}({})\n", i, f.name, fmt::join(f.params, ", "));
    out += fmt::format("# reg file size = {}\n", f.register_file_size);
    out += fmt::format("# instruction count = {}\n", f.end - f.start);
    out += "opcode, fields # inst(text):\n";
    for (Pc pc = f.start; pc < f.end; ++pc) out += line(exe, f, pc);
    out += "\n";
  }
  return out;
}

std::string stats(const Executable& exe) {
  std::vector<std::string> shapes, globals, primitives;
  for (const Constant& c : exe.constants)
    if (!c.tensor.is_null()) shapes.push_back(shape_text(c.tensor.as_tensor()));
  for (std::size_t i = 0; i < exe.functions.size(); ++i)
    globals.push_back(fmt::format("(\"{}\", {})", exe.functions[i].name, i));
  primitives.assign(exe.primitives.begin(), exe.primitives.end());
  std::string out = "Relay VM executable statistics:\n";
  out += fmt::format("  Constant shapes (# {}): [{}]\n", shapes.size(), fmt::join(shapes, ", "));
  out += fmt::format("  Globals (#{}): [{}]\n", globals.size(), fmt::join(globals, ", "));
  return out + fmt::format("  Primitive ops (#{}): [{}]\n", primitives.size(), fmt::join(primitives, ", "));
}

std::string constants_text(const Executable& exe) {
  std::string out;
  for (std::size_t i = 0; i < exe.constants.size(); ++i) {
    const Constant& c = exe.constants[i];
    out += fmt::format("VM Const[{}]: ", i);
    if (c.tensor.is_null()) {
      out += fmt::format("late-bound as `{}`", c.late_name);
    } else {
      const runtime::Tensor& t = c.tensor.as_tensor();
      out += fmt::format("NDArray[({}),{},(1,0)]{}", fmt::join(t.shape(), ","), runtime::to_string(t.dtype()),
                         values_text(t));
    }
    out += fmt::format(" on device index {}\n", c.device);
  }
  return out;
}

std::string primitives_text(const Executable& exe) {
  std::string out;
  for (std::size_t i = 0; i < exe.primitives.size(); ++i)
    out += fmt::format("VM PackedFunc[{}]: {}\n", i, exe.primitives[i]);
  return out;
}

std::string devices_text(const Executable& exe) {
  std::string out;
  for (std::size_t i = 0; i < exe.devices.size(); ++i) {
    const Device& d = exe.devices[i];
    out += fmt::format("VM VirtualDevice[{}]: device type {} and id {}", i, d.type, d.id);
    if (layout_of_text(exe) == Layout::C) out += fmt::format(" and mem_scope {}", d.memory_scope);
    out += "\n";
  }
  return out;
}

}  // namespace rldb::relay_bytecode
