// Reasons not to count a difference of two programs on numbers that were chosen for their effect. Room-private.
#pragma once

#include <string>

#include "rldb/repro/compare.h"

namespace rldb::repro {

// Empty: the difference counts. `integers`: some inputs are integers of the search's own choice.
//
// A program whose integers of 32 or 64 bits overflow is not defined: passes may assume that they do not (narrower ones
// wrap round). And where the first program's own result changes as much when its floats change in their last places,
// a correct second one may differ by its rounding: at a jump, a tie, or after a cancellation. That is no excuse if the
// first tensor that differs, computed by the evaluator, is computed from equal ones.
std::string doubt_about(session::Session& session, const Program& good, const Program& bad,
                        const Tolerances& tolerances, bool integers);

}  // namespace rldb::repro
