// Declares the type inference functions that the rows of op.def name.
#pragma once

#include "rldb/ops/op_info.h"

namespace rldb::ops {

namespace infer {
#define RLDB_OP(id, name, signature, infer_fn, legal_fn, purity, mixed, traits, doc) \
  Result<const ir::Type*> infer_fn(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);
#include "rldb/ir/op/op.def"
}  // namespace infer

}  // namespace rldb::ops
