// Flat form: functions that do the same to each element of their buffers, and differ only in the dims of these, as one
// function over the number of elements. Code that is made for it serves all of them: the buffers are compact, so their
// data pointers and that number are all that the code needs. User: codegen_llvm.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::schedule {

// `f` over buffers of one dim, a variable: one loop over it. Its names do not depend on those of `f`. Null: `f` is more
// than one elementwise nest over all of its buffers, may stop with an error (which would name its variables), or is
// known to be so small that its code is better made for its size.
const ir::PrimFunc* flat_form(ir::Context& ctx, const ir::PrimFunc* f);

}  // namespace rldb::schedule
