// Calls in the expression language that TVMScript handles: operators (`R.add(x, x[0])`) and functions of the
// module.
#pragma once

#include "rldb/expression/expression.h"
#include "rldb/session/session.h"

namespace rldb::debug {

// Operators are typed over the arguments' values and built once for each combination of types. `run`, which must
// outlive the hook, executes functions of the module instead of the session.
expression::CallHook script_calls(session::Session& session, const session::Session::EntryRunner& run);

}  // namespace rldb::debug
