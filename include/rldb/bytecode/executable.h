// Executable: a program for the Relax VM as data. The layout is TVM's: a function table, constants, two word arrays.
//
// Nothing in here is checked: whoever wants to run it passes it to `verify` (vm::Program::link does). `kernels` is our
// own section: object code or text by name, interpreted by whoever put it there. Made by ExecutableBuilder (codegen,
// tests) and by the loader; immutable once shared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/debug_info.h"
#include "rldb/bytecode/instruction.h"
#include "rldb/runtime/error.h"
#include "rldb/runtime/value.h"

namespace rldb::bytecode {

enum class FunctionKind : std::int32_t { Packed = 0, Bytecode = 1, VmTir = 2 };

inline constexpr Index kUndefinedArgs = -2;  // num_args of a declared but undefined entry (packed ones always)

struct FunctionEntry {
  FunctionKind kind = FunctionKind::Packed;
  std::string name;
  Index start = 0;
  Index end = 0;  // exclusive
  Index num_args = kUndefinedArgs;
  Index register_file_size = 0;
  std::vector<std::string> param_names;
};

struct Executable {
  std::vector<FunctionEntry> functions;
  std::vector<runtime::Value> constants;
  std::map<Index, std::string> memory_scopes;  // of constants; absent: "global"
  std::vector<Word> instr_offset;
  std::vector<Word> instr_data;
  DebugInfo debug;
  std::map<std::string, std::string> kernels;
  // Free notes of the producer ("rldb.engine" = "jit", ...), serialised.
  std::map<std::string, std::string> metadata;

  Index instruction_count() const { return Index(instr_offset.size()); }
  // Only for verified executables (or ones that the builder made).
  Instruction instruction(Index pc) const;
  // -1: none.
  Index find_function(std::string_view name) const;
  Index function_of(Index pc) const;
};

// Limits that the verifier enforces, far above what any program needs.
inline constexpr Index kMaxRegisters = Index(1) << 24;

// Checks all that a machine relies on: opcodes, operand counts, registers, offsets, indices, arities of direct calls,
// function ranges, argument kinds, no way to fall off a function's end. The error names the place.
runtime::Result<support::Unit> verify(const Executable& exe);

}  // namespace rldb::bytecode
