// ExecutableBuilder: emits functions one at a time; the order of first mention is the order of the table, as in TVM.
//
// Usage: begin_function, emit_*, end_function, ..., finish. Integers that fit become immediates through `integer`;
// constants are deduplicated structurally (tensors by contents). Debug info given with `at` sticks until changed.
// Used by codegen and tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/bytecode/executable.h"

namespace rldb::bytecode {

class ExecutableBuilder {
 public:
  // Index of a name in the function table; declares it if it is new. Once defined, an entry keeps its kind.
  FunctionIndex function(std::string_view name, FunctionKind kind = FunctionKind::Packed);

  void begin_function(std::string_view name, std::vector<std::string> params, FunctionDebug debug = {});
  // Without `registers` the size is one more than the highest register seen (at least the parameters).
  void end_function(std::int64_t registers = -1);

  void at(InstructionDebug debug) { current_ = std::move(debug); }
  // Each returns the pc of the emitted instruction.
  Pc call(std::string_view callee, const std::vector<Arg>& args, RegName dst = kVoidRegister,
          FunctionKind kind = FunctionKind::Packed);
  Pc ret(RegName reg);
  Pc jump(std::int64_t offset = 0);                       // Goto
  Pc branch(RegName condition, std::int64_t offset = 0);  // If
  // Makes the Goto or If at `pc` jump to the instruction that is emitted next.
  void patch_to_here(Pc pc);

  Arg integer(std::int64_t value);  // an immediate, or a constant when it does not fit
  Arg constant(runtime::Value value, std::string_view memory_scope = {});
  Arg constant_function(std::string_view name) { return Arg::function(function(name)); }

  Pc next_pc() const { return exe_.end(); }
  FunctionDebug& function_debug() { return exe_.debug.functions[std::size_t(open_)]; }
  // The program so far; `finish` renumbers nothing. CHECKs that no function is open.
  Executable finish();

 private:
  Pc emit(std::initializer_list<Word> head, const std::vector<Arg>* args = nullptr);
  void touch(RegName reg);

  Executable exe_;
  InstructionDebug current_;
  FunctionIndex open_ = -1;
  RegName highest_ = -1;
  std::map<std::string, FunctionIndex, std::less<>> names_;
  std::multimap<std::size_t, ConstantIndex> constant_index_;  // structural hash -> constant
};

}  // namespace rldb::bytecode
