// Calls within the expression language that TVMScript answers: operators (`R.add(x, x[0])`) and functions of the
// module.
#pragma once

#include "debug/expression/expression.h"
#include "rldb/session/session.h"

namespace rldb::debug {

// Operators are typed over the arguments' values and built once for each combination of types.
CallHook script_calls(session::Session& session);

}  // namespace rldb::debug
