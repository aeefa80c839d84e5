// match_casts to a shape variable.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// `match_cast(x, R.Tensor(s))` asserts that the shape of x is s. Before each one come casts of both to the same new
// symbolic dims, which is what the VM can check. It needs to know how many there are: where neither type tells,
// nothing is added. The function itself when there is none.
const ir::Function* with_dims_of_shape_vars(ir::Context& ctx, const ir::Function* f);

}  // namespace rldb::passes
