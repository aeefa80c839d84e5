// What passes over products ask about the dims of matrices.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

// R.permute_dims of `rank` dims: the last two change places and the others stay.
bool swaps_matrix_dims(const ir::Call* permute, std::size_t rank);

}  // namespace rldb::passes
