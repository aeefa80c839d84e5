// Declares the sharding rules that the rows of class.def and rule.def name; nullopt when sharding is not known through
// the operator.
#pragma once

#include "ops/infer/distributed.h"

namespace rldb::ops::shard {

#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  std::optional<AxisMap> shard(const Sharded& s);
#include "rldb/ir/op/class.def"
#define RLDB_OP_SHARD(Op, function) std::optional<AxisMap> function(const Sharded& s);
#include "rldb/ir/op/rule.def"

}  // namespace rldb::ops::shard
