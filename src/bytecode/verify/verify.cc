// The verifier: everything that the machine's linker and interpreter take for granted is checked here, once.
//
// Order matters: word arrays first (after that an instruction can be decoded), then the function table, then each
// function's instructions against both.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/verify/verify_debug.h"
#include "rldb/bytecode/executable.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::bytecode {
namespace {

using runtime::ErrorKind;
using Checked = runtime::Result<support::Unit>;

support::Failure<runtime::Error> bad(std::string text) {
  return runtime::fail(ErrorKind::BadFile, "invalid executable: " + std::move(text));
}

// Number of words of the instruction at `at`, or 0 when it does not fit into `left` words.
std::size_t instruction_length(const Word* at, std::size_t left) {
  std::size_t length = 0;
  switch (info(Opcode(at[0])).shape) {
    case OperandShape::DstCalleeArgs:
      if (left < 4 || at[3] < 0 || std::uint64_t(at[3]) > left - 4) return 0;
      return 4 + std::size_t(at[3]);
    case OperandShape::Register:
    case OperandShape::Offset:
      length = 2;
      break;
    case OperandShape::RegisterOffset:
      length = 3;
      break;
  }
  return length <= left ? length : 0;
}

class Verifier {
 public:
  explicit Verifier(const Executable& exe) : exe_(exe) {}

  Checked run() {
    RLDB_TRY_VOID(check_words());
    RLDB_TRY_VOID(check_table());
    for (std::size_t f = 0; f < exe_.functions.size(); ++f)
      if (exe_.functions[f].kind == FunctionKind::Bytecode) RLDB_TRY_VOID(check_function(exe_.functions[f]));
    RLDB_TRY_VOID(check_tables_beside());
    return support::Unit{};
  }

 private:
  Checked check_words() {
    for (std::size_t pc = 0; pc < exe_.instr_offset.size(); ++pc) {
      Word at = exe_.instr_offset[pc];
      if (at < 0 || std::uint64_t(at) >= exe_.instr_data.size())
        return bad(fmt::format("instruction {} starts at word {} of {}", pc, at, exe_.instr_data.size()));
      const Word* words = exe_.instr_data.data() + at;
      if (!is_opcode(words[0])) return bad(fmt::format("instruction {} has unknown opcode {}", pc, words[0]));
      if (instruction_length(words, exe_.instr_data.size() - std::size_t(at)) == 0)
        return bad(fmt::format("instruction {} is cut off", pc));
    }
    return support::Unit{};
  }

  Checked check_table() {
    std::vector<std::pair<Pc, Pc>> ranges;
    std::vector<std::string_view> names;
    for (const FunctionEntry& f : exe_.functions) {
      switch (f.kind) {
        case FunctionKind::Packed:
        case FunctionKind::VmTir:
        case FunctionKind::Bytecode:
          break;
      }
      if (f.kind < FunctionKind::Packed || f.kind > FunctionKind::VmTir)
        return bad(fmt::format("function `{}` has unknown kind {}", f.name, int(f.kind)));
      if (!is_plain_text(f.name)) return bad("the name of a function has control characters");
      names.push_back(f.name);
      if (f.kind == FunctionKind::Bytecode) {
        RLDB_TRY_VOID(check_entry(f));
        ranges.emplace_back(f.start, f.end);
      }
    }
    std::sort(names.begin(), names.end());
    auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) return bad(fmt::format("function `{}` is there twice", *twice));
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second) return bad("two functions share instructions");
    return support::Unit{};
  }

  Checked check_entry(const FunctionEntry& f) {
    if (f.num_args == kUndefinedArgs) return bad(fmt::format("function `{}` is declared but not defined", f.name));
    if (f.start < 0 || f.start >= f.end || f.end > exe_.end())
      return bad(fmt::format("function `{}` has instructions [{}, {}) of {}", f.name, f.start, f.end,
                             exe_.instruction_count()));
    if (f.num_args < 0 || f.register_file_size < f.num_args || f.register_file_size > kMaxRegisters)
      return bad(
          fmt::format("function `{}` has {} arguments and {} registers", f.name, f.num_args, f.register_file_size));
    if (f.param_names.size() > std::size_t(f.num_args))
      return bad(fmt::format("function `{}` names {} parameters but has {}", f.name, f.param_names.size(), f.num_args));
    for (const std::string& name : f.param_names)
      if (!is_plain_text(name)) return bad(fmt::format("a parameter name of `{}` has control characters", f.name));
    std::int64_t most = f.num_args + kSpareRegisters;
    for (Pc pc = f.start; pc < f.end; ++pc) most += words_of(pc);
    if (f.register_file_size > most)
      return bad(
          fmt::format("function `{}` has {} registers, more than its code can use", f.name, f.register_file_size));
    return support::Unit{};
  }

  std::int64_t words_of(Pc pc) const {
    const std::size_t at = std::size_t(exe_.instr_offset[std::size_t(pc)]);
    return std::int64_t(instruction_length(exe_.instr_data.data() + at, exe_.instr_data.size() - at));
  }

  Checked check_function(const FunctionEntry& f) {
    for (Pc pc = f.start; pc < f.end; ++pc) {
      support::poll();
      Instruction i = exe_.instruction(pc);
      Checked checked = check_instruction(f, pc, i);
      if (!checked.ok()) return checked;
    }
    Opcode last = exe_.instruction(f.end - 1).op;
    if (last == Opcode::Call || last == Opcode::If) return bad(fmt::format("function `{}` runs off its end", f.name));
    return support::Unit{};
  }

  Checked check_instruction(const FunctionEntry& f, Pc pc, const Instruction& i) {
    switch (i.op) {
      case Opcode::Call:
        return check_call(f, pc, i);
      case Opcode::Ret:
        if (i.reg == kVoidRegister) return support::Unit{};
        return check_register(f, pc, i.reg, "result");
      case Opcode::Goto:
        // Offset 0 would be an endless loop that cannot even be interrupted at a call; TVM never emits it.
        if (i.offset == 0) return bad(fmt::format("`{}` pc {}: goto itself", f.name, pc));
        return check_jump(f, pc, i.offset);
      case Opcode::If:
        if (i.offset <= 1)
          return bad(fmt::format("`{}` pc {}: If jumps by {}, which must be over 1", f.name, pc, i.offset));
        RLDB_TRY_VOID(check_register(f, pc, i.reg, "condition"));
        return check_jump(f, pc, i.offset);
    }
    RLDB_UNREACHABLE("opcode");
  }

  Checked check_call(const FunctionEntry& f, Pc pc, const Instruction& i) {
    if (i.callee < 0 || std::size_t(i.callee) >= exe_.functions.size())
      return bad(fmt::format("`{}` pc {}: callee {} of {}", f.name, pc, i.callee, exe_.functions.size()));
    if (!is_special(i.dst)) RLDB_TRY_VOID(check_register(f, pc, i.dst, "dst"));
    if (i.dst > kVmRegister) return bad(fmt::format("`{}` pc {}: special dst", f.name, pc));
    const FunctionEntry& callee = exe_.functions[std::size_t(i.callee)];
    if (callee.kind == FunctionKind::Bytecode && callee.num_args != std::int64_t(i.args.size()))
      return bad(fmt::format("`{}` pc {}: `{}` takes {}, {} given", f.name, pc, callee.name,
                             support::counted(std::size_t(callee.num_args), "argument"), i.args.size()));
    for (std::size_t a = 0; a < i.args.size(); ++a) {
      RLDB_TRY_VOID(check_arg(f, pc, i.arg(a)));
    }
    return support::Unit{};
  }

  Checked check_arg(const FunctionEntry& f, Pc pc, Arg arg) {
    switch (arg.kind()) {
      case ArgKind::Register:
        if (arg.reg() == kVoidRegister || arg.reg() == kVmRegister) return support::Unit{};
        return check_register(f, pc, arg.reg(), "argument");
      case ArgKind::Immediate:
        return support::Unit{};
      case ArgKind::Constant:
        if (arg.value() >= 0 && std::uint64_t(arg.value()) < exe_.constants.size()) return support::Unit{};
        return bad(fmt::format("`{}` pc {}: constant {} of {}", f.name, pc, arg.value(), exe_.constants.size()));
      case ArgKind::Function:
        if (arg.value() >= 0 && std::uint64_t(arg.value()) < exe_.functions.size()) return support::Unit{};
        return bad(fmt::format("`{}` pc {}: function {} of {}", f.name, pc, arg.value(), exe_.functions.size()));
    }
    return bad(fmt::format("`{}` pc {}: argument of unknown kind {}", f.name, pc, int(arg.kind())));
  }

  Checked check_register(const FunctionEntry& f, Pc pc, RegName reg, const char* what) {
    if (reg >= 0 && reg < RegName(f.register_file_size)) return support::Unit{};
    return bad(fmt::format("`{}` pc {}: {} register {} of {}", f.name, pc, what, reg, f.register_file_size));
  }

  Checked check_jump(const FunctionEntry& f, Pc pc, std::int64_t offset) {
    // Bounds first: the sum may overflow.
    if (offset >= f.start - pc && offset < f.end - pc) return support::Unit{};
    return bad(fmt::format("`{}` pc {}: jump by {} leaves the function", f.name, pc, offset));
  }

  Checked check_tables_beside() {
    for (const auto& [constant, scope] : exe_.memory_scopes)
      if (constant < 0 || std::uint64_t(constant) >= exe_.constants.size())
        return bad(fmt::format("memory scope of constant {} of {}", constant, exe_.constants.size()));
    return verify_debug_info(exe_);
  }

  const Executable& exe_;
};

}  // namespace

Checked verify(const Executable& exe) { return Verifier(exe).run(); }

}  // namespace rldb::bytecode
