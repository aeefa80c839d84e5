// Whether a kernel whose callers were rewritten, or a binding, still means what it meant under its name. Room-private.
#pragma once

#include <string>

#include "repro/bisect/alone.h"
#include "rldb/repro/tensor_difference.h"
#include "rldb/repro/trace.h"

namespace rldb::repro {

// In two runs of a program: it reads the same tensors at least once, and wherever it does, it computes the same.
bool keeps_its_meaning(const Trace& before, const Trace& now, const std::string& kernel, const Tolerances& tolerances);

// The operands of the computation, and its result, have equal values in two runs of the whole program.
bool is_one_in_both(const AloneChecker::Found& f, const Trace& before, const Trace& now, const Tolerances& tolerances);

}  // namespace rldb::repro
