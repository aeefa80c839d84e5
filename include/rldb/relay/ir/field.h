// Names of the fields of attributes, from the rows of field.def: relay::field::Axis is "axis".
#pragma once

#include <string_view>

namespace rldb::relay::field {

#define RLDB_RELAY_FIELD(Id, name) inline constexpr std::string_view Id = name;
#include "rldb/relay/ir/field.def"

}  // namespace rldb::relay::field
