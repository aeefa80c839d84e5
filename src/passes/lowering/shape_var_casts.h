// match_casts to a shape variable.
#pragma once

#include <unordered_map>

#include "rldb/ir/context.h"

namespace rldb::passes {

// `match_cast(x, R.Tensor(s))` asserts that the shape of x is s. Before each one come casts of both to the same new
// symbolic dims, which is what the VM can check. It needs to know how many there are: where neither type tells,
// nothing is added. The function itself when there is none.
struct ShapeVarChecks {
  const ir::Function* function;
  // Of the casts that were added: the types that the text has, which their messages say.
  std::unordered_map<const ir::Binding*, const ir::Type*> written;
};
ShapeVarChecks with_dims_of_shape_vars(ir::Context& ctx, const ir::Function* f);

}  // namespace rldb::passes
