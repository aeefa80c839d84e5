// Declares the sharding rules that the rows of op.def name; nullopt when sharding is not known through the operator.
#pragma once

#include "ops/infer/distributed.h"

namespace rldb::ops::shard {

#define RLDB_OP(id, name, signature, infer_fn, legal_fn, eval_fn, shard_fn, purity, mixed, traits, doc) \
  std::optional<AxisMap> shard_fn(const Sharded& s);
#include "rldb/ir/op/op.def"

}  // namespace rldb::ops::shard
