// Whether a computation that reads tensors equal only within the tolerance makes a difference by itself. Room-private.
#pragma once

#include "rldb/repro/compare.h"

namespace rldb::repro {

// Runs the second side's computation of `d` on the first side's inputs, and compares its result with the first
// side's. NotTried: in a module, the computation is not at the top of its function; of an executable, the run does not
// come to the call again, or it cannot be told which argument is which.
FirstDifference::Alone run_alone(session::Session& session, const Program& b, const Trace& first, const Trace& second,
                                 const FirstDifference& d, const Tolerances& tolerances);

}  // namespace rldb::repro
