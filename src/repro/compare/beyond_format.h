// Numbers that the format of a converted program cannot hold. Room-private.
#pragma once

#include <string>

#include "rldb/repro/compare.h"

namespace rldb::repro {

// Where the second program, which computes in a lower precision than the first, has the first tensor that is not
// finite though it was computed from finite ones, and is finite in the first program. Empty: its result is finite where
// that of the first is, or the programs have the same formats.
std::string beyond_format(session::Session& session, const Program& a, const Program& b, const Trace& first,
                          const Trace& second, const TensorDifference& result);

}  // namespace rldb::repro
