// DebugInfo: the source information of every instruction and function of an Executable.
//
// Made by codegen along with the code, carried by the executable, optional everywhere: an executable that TVM wrote has
// none. Node ids are ir node ids of the compiled module version and mean something only to the session that compiled
// it; spans likewise. A Location (file, line, column) survives a file: resolve_locations fills them from spans.
// Slots are indices into the shape heap. Read by vm (shape errors), debug, ui; bytecode never interprets node ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/instruction.h"
#include "rldb/runtime/dtype.h"
#include "rldb/source/buffer.h"
#include "rldb/source/span.h"

namespace rldb::bytecode {

struct Location {
  std::uint32_t file = 0;  // index + 1 into DebugInfo::files; 0: none
  std::uint32_t line = 0;  // 1-based
  std::uint32_t column = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

struct InstructionDebug {
  std::uint32_t node = 0;     // ir node id of the binding's value; 0: none (entry, merge copies, kills)
  std::uint32_t binding = 0;  // ir node id of the bound variable; 0: none
  std::string variable;       // name of the bound variable; empty: none (`_` bindings have "_")
  source::Span span;          // not serialised
  Location location;
  std::vector<std::int32_t> slots_read;
  std::vector<std::int32_t> slots_written;
};

// A register holds the variable in [begin, end) of pc: from the instruction after its definition to its last use or
// kill.
struct VariableRange {
  std::string name;
  std::uint32_t node = 0;  // ir node id of the variable; 0 unknown
  RegName reg = 0;
  Pc begin = 0;
  Pc end = 0;
  bool is_parameter = false;
  std::string type;  // as printed, e.g. `R.Tensor((n, 4), dtype="float32")`; may be empty
};

struct SlotDebug {
  std::string text;  // `n`, or the expression `n * 2`
  bool is_variable = false;
  std::string bound_by;  // "parameter `x`, dimension 0", "match_cast of `y`", "computed"
  runtime::DType dtype = runtime::DType::Int(64);
};

struct FunctionDebug {
  std::uint32_t node = 0;
  source::Span span;  // not serialised
  Location location;
  RegName heap_register = -1;  // where the shape heap lives, -1: none
  std::vector<SlotDebug> slots;
  std::vector<VariableRange> variables;
};

struct DebugInfo {
  std::vector<std::string> files;
  std::vector<FunctionDebug> functions;        // parallel to the function table; may be shorter
  std::vector<InstructionDebug> instructions;  // parallel to instr_offset; may be shorter

  const FunctionDebug* function(FunctionIndex f) const {
    return f >= 0 && std::size_t(f) < functions.size() ? &functions[std::size_t(f)] : nullptr;
  }
  const InstructionDebug* instruction(Pc pc) const {
    return pc >= 0 && std::size_t(pc) < instructions.size() ? &instructions[std::size_t(pc)] : nullptr;
  }
  const SlotDebug* slot(FunctionIndex f, std::int64_t slot) const;
  std::string_view file(Location l) const;
  // The variable that a register holds at a pc, or null. The innermost (latest begun) range wins.
  const VariableRange* variable_at(FunctionIndex function, RegName reg, Pc pc) const;
  std::vector<const VariableRange*> variables_at(FunctionIndex function, Pc pc) const;
};

// Fills every `location` from its span.
void resolve_locations(DebugInfo& info, const source::SourceManager& sources);

}  // namespace rldb::bytecode
