// The names of operators as constants: op::NnRelu is "relax.nn.relu". One for each row of op/op.def, so that a name is
// written in its row and nowhere else; scripts/check_names says so.
#pragma once

#include <string>
#include <string_view>

namespace rldb::op {

// What the names of Relax operators begin with; those of TensorIR intrinsics begin with "tir.".
inline constexpr std::string_view kPrefix = "relax.";

#define RLDB_OP(id, name, signature, infer_fn, legal_fn, eval_fn, shard_fn, purity, mixed, traits, doc) \
  inline constexpr std::string_view id = "relax." name;
#include "rldb/ir/op/op.def"

constexpr bool is_relax(std::string_view name) { return name.starts_with(kPrefix); }
// "nn.relu" of "relax.nn.relu", as after R.; a name without the prefix as it is.
constexpr std::string_view short_name(std::string_view name) {
  return is_relax(name) ? name.substr(kPrefix.size()) : name;
}
// "relax.nn.relu" of "nn.relu"; a name with the prefix as it is.
inline std::string full_name(std::string_view name) {
  return is_relax(name) ? std::string(name) : std::string(kPrefix) + std::string(name);
}

}  // namespace rldb::op

// The same without the prefix, as after R.: short_op::NnRelu is "nn.relu".
namespace rldb::short_op {
#define RLDB_OP(id, name, signature, infer_fn, legal_fn, eval_fn, shard_fn, purity, mixed, traits, doc) \
  inline constexpr std::string_view id = name;
#include "rldb/ir/op/op.def"
}  // namespace rldb::short_op

// Attributes of functions whose names have the prefix of operators (attr_name.def).
namespace rldb::attr_name {
#define RLDB_ATTR_NAME(id, name, doc) inline constexpr std::string_view id = name;
#include "rldb/ir/attr_name.def"
}  // namespace rldb::attr_name
