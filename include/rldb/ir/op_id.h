// The operators as numbers, for tables with an entry for each: every new row rebuilds whatever includes this. To tell
// which operator a call is of, compare names (op/<family>.h), or query traits (op_traits.h).
#pragma once

#include "rldb/ir/op_traits.h"

namespace rldb::op {

enum class Id : std::uint16_t {
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) id,
#include "rldb/ir/op/op.def"
};
inline constexpr std::size_t kCount = 0
#define RLDB_OP(id, name, signature, op_class, infer_fn, legal_fn, eval_fn, purity, traits, doc) +1
#include "rldb/ir/op/op.def"
    ;

}  // namespace rldb::op
