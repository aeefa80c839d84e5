// Reductions of a block: what its stores compute, as one of the combinations that TVM knows by their form.
#pragma once

#include <optional>
#include <vector>

#include "rldb/ir/context.h"

namespace rldb::passes {

// A block `B[i] = combine(B[i], value)` with an init.
struct BlockReduction {
  const ir::CommReducer* reducer;
  std::vector<const ir::Buffer*> buffers;  // where the results are
  std::vector<const ir::Expr*> indices;    // of the results
  std::vector<const ir::Expr*> values;     // one per buffer: what is added
};

// Sum, product, smallest, largest, two sums, and the position of the largest or smallest. Null: it has another form.
std::optional<BlockReduction> reduction_of(ir::Context& ctx, const ir::SBlock* block);

}  // namespace rldb::passes
