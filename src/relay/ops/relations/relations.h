// The relations by name: the column of op.def. Each says what the type of a call is. A relation that calls one of
// another file includes this; the others need not, so that a new row builds few files again.
#pragma once

#include "relay/ops/relation.h"

namespace rldb::relay::relations {

// Rows share functions, so that a prototype may come several times.
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) Outcome relation(const Operands& o);
#include "rldb/relay/ir/op.def"

Outcome sorted_out(const Operands& o, const Dims& dims);  // of TopK, with such dims

}  // namespace rldb::relay::relations
