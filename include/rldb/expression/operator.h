// The operators of the expression language by name: everything that includes this is rebuilt for every new row of
// operator.def.
#pragma once

#include <cstdint>

namespace rldb::expression {

enum class Operator : std::uint8_t {
#define RLDB_BINARY(id, text, doc) id,
#define RLDB_COMPARISON(id, text, doc) id,
#define RLDB_UNARY(id, text, doc) id,
#include "rldb/expression/operator.def"
};

}  // namespace rldb::expression
