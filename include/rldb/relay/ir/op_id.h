// Relay's operators by name: relay::op::<Id> are the rows of op.def. Every new row rebuilds whatever includes this.
#pragma once

#include "rldb/relay/ir/op.h"

namespace rldb::relay {

enum class AttributesId : std::uint8_t {
#define RLDB_RELAY_ATTRIBUTES(Id, key, fields) Id,
#include "rldb/relay/ir/attributes.def"
};

enum class OpId : std::uint16_t {
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) Id,
#include "rldb/relay/ir/op.def"
};

namespace op {
#define RLDB_RELAY_OP(Id, name, operands, attributes, relation, pattern, role) inline constexpr OpId Id = OpId::Id;
#include "rldb/relay/ir/op.def"
}  // namespace op

}  // namespace rldb::relay
