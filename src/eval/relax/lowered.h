// The `vm.builtin.*` functions that a lowered program calls, as the evaluator implements them: independently of the
// machine's, so that the two can be compared. Those that call back into the program are in the evaluator's core
// (relax.cc).
#pragma once

#include <optional>

#include "rldb/bytecode/builtin.h"
#include "rldb/runtime/packed.h"

namespace rldb::eval {

// nullopt: it needs the program, or is one of `relax.run.*` (relax_op.h). Builtins that take the machine get
// their arguments without it, as call_builtin_with_ctx writes them.
std::optional<runtime::Result<runtime::Value>> call_lowered(bytecode::BuiltinId id, runtime::PackedArgs args);

// The result is memory of its own, to which nothing has been written.
bool makes_memory(bytecode::BuiltinId id);

// The condition of an `if`; lowered programs read it with a builtin.
runtime::Result<bool> condition_of(const runtime::Value& v);

}  // namespace rldb::eval
