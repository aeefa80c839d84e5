// Declares the functions that the rows of op.def and class.def name: type inference and legalisation.
#pragma once

#include "rldb/ops/legalize.h"
#include "rldb/ops/op_info.h"

namespace rldb::ops {

namespace infer {
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  Result<const ir::Type*> infer_fn(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);
#include "rldb/ir/op/op.def"
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  Result<const ir::Type*> infer(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);
#include "rldb/ir/op/class.def"
}  // namespace infer

namespace legal {
// `none` marks a row without a body.
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) \
  Result<const ir::Expr*> legal_fn(Legalizer& l, const ir::Call* c);
#include "rldb/ir/op/op.def"
}  // namespace legal

}  // namespace rldb::ops
