// Stops at operators whose dims do not fit. Users: repro.
#pragma once

#include "rldb/runtime/error.h"

namespace rldb::session {

// Whether a program stopped because the dims of an operator's operands do not fit each other. The kernel that passes
// make of the operator need not stop there: TVM's compute something.
bool dims_do_not_fit(const runtime::Error& error);

}  // namespace rldb::session
