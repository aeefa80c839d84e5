// Every view of the debugger reads debug info without further checks, so a file's is checked here like its code.
#include "bytecode/verify/verify_debug.h"

#include <fmt/format.h>

namespace rldb::bytecode {
namespace {

using runtime::ErrorKind;
using Checked = runtime::Result<support::Unit>;

support::Failure<runtime::Error> bad_debug_info(std::string text) {
  return runtime::fail(ErrorKind::BadFile, "invalid executable: debug info: " + std::move(text));
}

class DebugVerifier {
 public:
  explicit DebugVerifier(const Executable& exe) : exe_(exe), debug_(exe.debug) {}

  Checked run() {
    if (debug_.functions.size() > exe_.functions.size()) return bad_debug_info("more functions than there are");
    if (debug_.instructions.size() > exe_.instr_offset.size())
      return bad_debug_info("more instructions than there are");
    for (const std::string& file : debug_.files)
      if (!is_plain_text(file)) return bad_debug_info("the name of a file has control characters");
    for (std::size_t f = 0; f < debug_.functions.size(); ++f)
      RLDB_TRY_VOID(check_function(exe_.functions[f], debug_.functions[f]));
    return check_instructions();
  }

 private:
  Checked check_function(const FunctionEntry& f, const FunctionDebug& debug) {
    RLDB_TRY_VOID(check_location(f, debug.location));
    const RegName heap = debug.heap_register;
    if (heap < -1 || heap >= RegName(registers(f)))
      return bad_debug_info(fmt::format("heap register {} of {} in `{}`", heap, registers(f), f.name));
    for (const SlotDebug& s : debug.slots)
      if (!is_plain_text(s.text) || !is_plain_text(s.bound_by))
        return bad_debug_info(fmt::format("the text of a slot of `{}` has control characters", f.name));
    for (const VariableRange& v : debug.variables) RLDB_TRY_VOID(check_variable(f, v));
    return support::Unit{};
  }

  Checked check_variable(const FunctionEntry& f, const VariableRange& v) {
    if (!is_plain_text(v.name) || !is_plain_text(v.type))
      return bad_debug_info(fmt::format("the name of a variable of `{}` has control characters", f.name));
    if (v.reg < 0 || v.reg >= RegName(registers(f)))
      return bad_debug_info(
          fmt::format("`{}`: variable `{}` in register {} of {}", f.name, v.name, v.reg, registers(f)));
    // A range begins after the instruction that defines the variable, a parameter's at the function's first one.
    const Pc first = f.start + (v.is_parameter ? 0 : 1);
    if (v.begin < first || v.end < v.begin || v.end > f.end)
      return bad_debug_info(fmt::format("`{}`: variable `{}` lives in [{}, {}), the function is [{}, {})", f.name,
                                        v.name, v.begin, v.end, f.start, f.end));
    return support::Unit{};
  }

  Checked check_instructions() {
    std::vector<FunctionIndex> owner(debug_.instructions.size(), -1);
    for (std::size_t f = 0; f < exe_.functions.size(); ++f) {
      if (exe_.functions[f].kind != FunctionKind::Bytecode) continue;
      for (Pc pc = exe_.functions[f].start; pc < exe_.functions[f].end && std::size_t(pc) < owner.size(); ++pc)
        owner[std::size_t(pc)] = FunctionIndex(f);
    }
    for (std::size_t pc = 0; pc < owner.size(); ++pc) RLDB_TRY_VOID(check_instruction(pc, owner[pc]));
    return support::Unit{};
  }

  Checked check_instruction(std::size_t pc, FunctionIndex function) {
    const InstructionDebug& i = debug_.instructions[pc];
    if (!is_plain_text(i.variable)) return bad_debug_info(fmt::format("pc {}: a name has control characters", pc));
    if (i.location.file > debug_.files.size())
      return bad_debug_info(fmt::format("pc {}: file {} of {}", pc, i.location.file, debug_.files.size()));
    const FunctionDebug* f = debug_.function(function);
    const std::size_t slots = f ? f->slots.size() : 0;
    for (const auto* list : {&i.slots_read, &i.slots_written})
      for (const std::int32_t slot : *list)
        if (slot < 0 || std::size_t(slot) >= slots)
          return bad_debug_info(fmt::format("pc {}: slot {} of {}", pc, slot, slots));
    return support::Unit{};
  }

  Checked check_location(const FunctionEntry& f, Location l) {
    if (l.file <= debug_.files.size()) return support::Unit{};
    return bad_debug_info(fmt::format("`{}`: file {} of {}", f.name, l.file, debug_.files.size()));
  }

  // Only bytecode has registers; for other entries of the table these fields are ignored.
  static std::int64_t registers(const FunctionEntry& f) {
    return f.kind == FunctionKind::Bytecode ? f.register_file_size : 0;
  }

  const Executable& exe_;
  const DebugInfo& debug_;
};

}  // namespace

bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return false;
    // U+0080 to U+009F, which some terminals obey like escape sequences.
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
    const bool lone = c >= 0x80 && c < 0xa0 && (i == 0 || static_cast<unsigned char>(text[i - 1]) < 0x80);
    if (lone) return false;
  }
  return true;
}

Checked verify_debug_info(const Executable& exe) { return DebugVerifier(exe).run(); }

}  // namespace rldb::bytecode
