// The text of a random typed TensorIR kernel: all dtypes, casts, divisions, indices that wrap, kinds of loops,
// reductions, selects, variables and intrinsics whose results are exact.
#pragma once

#include "fuzz/target.h"

namespace rldb::fuzz {

std::string kernel_text(Rng& rng);

}  // namespace rldb::fuzz
