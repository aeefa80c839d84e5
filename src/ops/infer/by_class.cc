// The type of a call by the rule of the operator's class.
#include "ops/rows.h"
#include "rldb/ir/op_rule.h"
#include "rldb/support/check.h"

namespace rldb::ops::infer {

Result<const ir::Type*> by_class(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  static constexpr InferFn kRules[] = {
#define RLDB_OP_CLASS(id, infer_fn, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  op::is_rule(#infer_fn) ? infer::infer_fn : nullptr,
#include "rldb/ir/op/class.def"
  };
  const op::Row* row = op::find(info.name);
  RLDB_CHECK(row, "only rows of op.def have a class");
  return kRules[std::size_t(op::class_of(row->id))](ctx, info, call);
}

}  // namespace rldb::ops::infer
