// The relations by name: the column of op.def. Each determines the type of a call. Relations that call one in another
// file include this; the others need not, so that a new row causes few files to be rebuilt.
#pragma once

#include "relay/ops/relation.h"

namespace rldb::relay::relations {

// Rows share functions, so that a prototype may be repeated.
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) Outcome relation(const Operands& o);
#include "rldb/relay/ir/op.def"

Outcome sorted_out(const Operands& o, const Dims& dims);  // for TopK, with these dims

}  // namespace rldb::relay::relations
