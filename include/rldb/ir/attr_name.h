// Names of attributes of functions, blocks and loops as constants: the rows of attr_name.def.
#pragma once

#include <string_view>

namespace rldb::attr_name {
#define RLDB_ATTR_NAME(id, name, doc) inline constexpr std::string_view id = name;
#include "rldb/ir/attr_name.def"
}  // namespace rldb::attr_name
