// Classes of operators (op/class.def), from which rules derive that an operator does not have of its own.
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/ir/op_traits.h"

namespace rldb::op {

enum class Class : std::uint8_t {
#define RLDB_OP_CLASS(id, infer, shard, layout, gradient, legalise, mixed, in_place, pattern, doc) id,
#include "rldb/ir/op/class.def"
};
// The columns that are decided for every operator.
enum class Column : std::uint8_t { Infer, Shard, Layout, Gradient, Legalise, Mixed };

std::string_view class_name(Class c);
Class class_of(Id id);
// The kernel of the operator may write over an operand of the same shape and dtype.
bool may_overwrite(Id id);
// Why the operator has no rule, or another one than its class; empty: there is nothing to explain.
std::string_view reason(Column column, std::string_view name);

}  // namespace rldb::op
