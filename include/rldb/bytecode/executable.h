// Executable: a program for the Relax VM as data. The layout is TVM's: a function table, constants, two word arrays.
//
// Nothing is checked here: an executable to be run is passed to `verify` (vm::Program::link does it). `tensor_ir` and
// `kernels` are our own sections, opaque here: the kernels as TVMScript, and their machine code. Made by
// ExecutableBuilder (codegen, tests) and by the loader; immutable once shared.
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

inline constexpr std::int64_t kUndefinedArgs = -2;  // num_args of a declared but undefined entry (packed ones always)

struct FunctionEntry {
  FunctionKind kind = FunctionKind::Packed;
  std::string name;
  Pc start = 0;
  Pc end = 0;  // exclusive
  std::int64_t num_args = kUndefinedArgs;
  std::int64_t register_file_size = 0;
  std::vector<std::string> param_names;
};

struct Executable {
  std::vector<FunctionEntry> functions;
  std::vector<runtime::Value> constants;
  std::map<ConstantIndex, std::string> memory_scopes;  // of constants; absent: "global"
  std::vector<Word> instr_offset;
  std::vector<Word> instr_data;
  DebugInfo debug;
  // A module with the PrimFuncs that the code calls: kernels are compiled from it when the file runs. Empty: none.
  std::string tensor_ir;
  // Machine code by kernel name, for one CPU. Used only when the user trusts the file (session).
  std::map<std::string, std::string> kernels;
  // Free notes of the producer ("rldb.engine" = "jit", ...), serialised.
  std::map<std::string, std::string> metadata;

  std::int64_t instruction_count() const { return std::int64_t(instr_offset.size()); }
  Pc end() const { return Pc(instr_offset.size()); }  // one past the last instruction
  // Only for verified executables (or ones that the builder made).
  Instruction instruction(Pc pc) const;
  // -1: none.
  FunctionIndex find_function(std::string_view name) const;
  FunctionIndex function_of(Pc pc) const;
};

// Limits that the verifier enforces, far above what any program needs.
inline constexpr std::int64_t kMaxRegisters = std::int64_t(1) << 24;
// A function has at most as many registers as its arguments, the words of its code and these together, so that a small
// file cannot request a large frame.
inline constexpr std::int64_t kSpareRegisters = 4096;

// Checks everything a machine relies on: opcodes, operand counts, registers, offsets, indices, arities of direct calls,
// function ranges, argument kinds, no way to fall off a function's end; and every index in the debug info: registers,
// ranges of instructions, slots, files. Names must be text without control characters, so that a listing shows exactly
// what is there. The error names the place.
runtime::Result<support::Unit> verify(const Executable& exe);

}  // namespace rldb::bytecode
