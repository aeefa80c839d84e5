// Braced lists for programs that write IR by hand: `tensor_type(ctx, {n, 4}, f32)`, `tuple(ctx, {a, b})`, `ints(ctx,
// {0, 1})`.
//
// Context takes spans, which C++20 does not create from a braced list. The lists are copied. Users: ops::BlockBuilder,
// programs that build on rldb (docs/building-on-rldb.md).
#pragma once

#include <vector>

#include "rldb/ir/context.h"

namespace rldb::ir {

// One dimension: a number or an expression.
class Dim {
 public:
  Dim(int value) : value_(value) {}
  Dim(std::int64_t value) : value_(value) {}
  Dim(const Expr* value) : expr_(value) {}
  const Expr* in(Context& ctx) const { return expr_ != nullptr ? expr_ : ctx.i64(value_); }

 private:
  const Expr* expr_ = nullptr;
  std::int64_t value_ = 0;
};
using Dims = std::initializer_list<Dim>;

inline std::vector<const Expr*> dims(Context& ctx, Dims values) {
  std::vector<const Expr*> made;
  for (const Dim& d : values) made.push_back(d.in(ctx));
  return made;
}
inline const TensorType* tensor_type(Context& ctx, Dims shape, DType dtype) {
  return ctx.tensor(dims(ctx, shape), dtype);
}
inline const ShapeType* shape_type(Context& ctx, Dims values) { return ctx.shape_type(dims(ctx, values)); }
inline const ShapeExpr* shape(Context& ctx, Dims values) { return ctx.shape(dims(ctx, values)); }
inline const Tuple* tuple(Context& ctx, std::initializer_list<const Expr*> items) {
  return ctx.tuple({items.begin(), items.size()});
}
inline const TupleType* tuple_type(Context& ctx, std::initializer_list<const Type*> fields) {
  return ctx.tuple_type({fields.begin(), fields.size()});
}
inline const Attr* ints(Context& ctx, std::initializer_list<std::int64_t> items) {
  return ctx.attr_ints({items.begin(), items.size()});
}
inline const Attr* attr_list(Context& ctx, std::initializer_list<const Attr*> items) {
  return ctx.attr_list({items.begin(), items.size()});
}

}  // namespace rldb::ir
