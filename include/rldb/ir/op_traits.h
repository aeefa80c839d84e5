// Properties of operators for passes: the column `traits` of their rows. A pass that needs to know which operators
// allocate, or are views, queries this and keeps no list of names.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rldb/ir/expr.h"

namespace rldb::op {

enum class Id : std::uint16_t;  // op_id.h, for tables with an entry for each operator

enum class Trait : std::uint32_t {
  None = 0,
  Allocates = 1 << 0,     // each call returns memory of its own: two equal calls are not one
  Storage = 1 << 1,       // its result is raw storage, not a tensor
  Kills = 1 << 2,         // its argument, a variable, has no value from here on
  View = 1 << 3,          // the result may be the first argument's memory, with the same elements in order
  Identity = 1 << 4,      // the result is the first argument, on one device
  CallTir = 1 << 5,       // calls its first argument with the tuple after it and with memory for the outputs
  CallsClosure = 1 << 6,  // calls its first argument, a closure, with the tuple after it
  CallsPacked = 1 << 7,   // calls its first argument, a packed function, with the arguments after it
  PureOverride = 1 << 8,  // a promise that a call which looks impure is pure
  Inspects = 1 << 9,      // reads the field of a tensor's header named by the last part of its name
  OutType = 1 << 10,      // the text gives the type of its result: out_ty
  ShapeTuple = 1 << 11,   // RFC 0089 writes its shape as a tuple
  Packed = 1 << 12,       // is a packed function (builtin::run_function): its arguments are the function's
  TakesTuple = 1 << 13,   // its first argument is a function, its second the tuple of arguments for that function
  Commutative = 1 << 14,  // patterns match its two operands in either order
  Activation = 1 << 15,   // may follow the matmuls of a layer, for CombineParallelMatmul
  SortScan = 1 << 16,     // DispatchSortScan turns it into a kernel
  Sampling = 1 << 17,     // DispatchSampling does
  GivenType = 1 << 18,    // the text or an operand gives the type of its result: neither dims nor sharding are inferred
};
constexpr Trait operator|(Trait a, Trait b) { return Trait(std::uint32_t(a) | std::uint32_t(b)); }
constexpr Trait operator&(Trait a, Trait b) { return Trait(std::uint32_t(a) & std::uint32_t(b)); }

struct Row {
  Id id;
  std::string_view name;  // "relax.nn.relu"
  Trait traits;
  bool pure;
  bool has(Trait any_of) const { return (traits & any_of) != Trait::None; }
};

// By full name; null for operators without a row.
const Row* find(std::string_view name);
const Row& row(Id id);
std::span<const Row> rows();  // by id
// The operator has at least one of the traits. One without a row has none.
bool has(std::string_view name, Trait any_of);
// The row of an operator; null for any other expression, and for an operator without a row.
inline const Row* row_of(const ir::Expr* callee) {
  const auto* op = ir::as<ir::Op>(callee);
  return op ? op->row : nullptr;
}
inline bool has(const ir::Expr* callee, Trait any_of) {
  const Row* r = row_of(callee);
  return r != nullptr && r->has(any_of);
}
// The expression is a call of such an operator.
bool is_call_with(const ir::Expr* e, Trait any_of);

}  // namespace rldb::op
