// Stages that are calculated where they are read, as TVM's compute_inline does it.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

// A block whose body is a sequence of nests: each one that writes every element of a buffer of this block once, from
// one expression, is put into the nests that read the buffer. Nests that state no reads (externs) keep what they read.
const ir::SBlock* inline_stages(ir::Context& ctx, const ir::SBlock* block);

}  // namespace rldb::passes
