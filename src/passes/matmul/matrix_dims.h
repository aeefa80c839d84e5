// Queries on the dims of matrices, for passes over products.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

// R.permute_dims of `rank` dims that swaps the last two and leaves the others in place.
bool swaps_matrix_dims(const ir::Call* permute, std::size_t rank);

}  // namespace rldb::passes
