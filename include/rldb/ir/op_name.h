// What the names of operators begin with. The names are constants made from the rows of op/op.def, op::NnRelu is
// "relax.nn.relu": each table has a header, op/conv.h. A name is written in its row and nowhere else;
// scripts/check_names says so.
#pragma once

#include <string>
#include <string_view>

// The name of a row of op/op.def as literal: with the prefix.
#define RLDB_OP_FULL_NAME(name) "relax." name

namespace rldb::op {

// What the names of Relax operators begin with; those of TensorIR intrinsics begin with "tir.".
inline constexpr std::string_view kPrefix = "relax.";

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
