#include "relay/ops/relations/relations.h"

namespace rldb::relay {

Relation relation_of(OpId op) {
  static constexpr Relation kRelations[] = {
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) relations::relation,
#include "rldb/relay/ir/op.def"
  };
  return kRelations[static_cast<std::size_t>(op)];
}

}  // namespace rldb::relay
