// Chain: compositions of Relax operators without a check after each call. After the first failure every maker returns
// null and does nothing; `done` reports that failure.
#pragma once

#include <optional>

#include "onnx/operators.h"

namespace rldb::onnx::bodies {

class Chain {
 public:
  explicit Chain(NodeContext& c) : c(c), ctx(c.ctx) {}

  NodeContext& c;
  ir::Context& ctx;

  bool good() const { return !failure_; }
  const Expr* fail(std::string why);  // null
  Made done(const Expr* made) const;
  // The value, or its default after a failure, which is kept.
  template <class T>
  T take(ir::Result<T> result);

  // ---- operands, types ----
  const Expr* in(std::size_t i);
  const Expr* in_or(std::size_t i, const Expr* otherwise) { return c.has(i) ? in(i) : otherwise; }
  DType dtype(const Expr* x);
  Dims dims(const Expr* x);
  std::size_t rank(const Expr* x) { return dims(x).size(); }
  std::int64_t size(const Expr* x, std::size_t axis);  // a failure if it is not known
  std::size_t axis(std::int64_t axis, const Expr* x);

  // ---- makers ----
  const Expr* op(std::string_view relax_op, const Exprs& values, const std::vector<ir::NamedAttr>& attrs = {});
  const Expr* each(std::string_view relax_op, const Expr* a, const Expr* b);  // broadcast
  const Expr* lit(const Expr* like, double v);                                // a scalar of its dtype
  const Expr* lit(DType t, double v) { return c.scalar(t, v); }
  const Expr* add(const Expr* a, const Expr* b);
  const Expr* sub(const Expr* a, const Expr* b);
  const Expr* mul(const Expr* a, const Expr* b);
  const Expr* div(const Expr* a, const Expr* b);
  // Of which one is no NaN, or it is the second.
  const Expr* max(const Expr* a, const Expr* b);
  const Expr* min(const Expr* a, const Expr* b);
  // A NaN of `x` stays, one of the limit is no limit: Relax's maximum and minimum are a comparison that gives the
  // second operand if one is NaN.
  const Expr* at_least(const Expr* x, const Expr* limit) { return max(limit, x); }
  const Expr* at_most(const Expr* x, const Expr* limit) { return min(limit, x); }
  const Expr* clamp(const Expr* x, const Expr* least, const Expr* most) { return at_most(at_least(x, least), most); }
  const Expr* where(const Expr* condition, const Expr* a, const Expr* b);
  const Expr* unary(std::string_view relax_op, const Expr* x) { return op(relax_op, {x}); }
  const Expr* exp(const Expr* x);
  const Expr* sqrt(const Expr* x);
  const Expr* add(const Expr* a, double b) { return add(a, lit(a, b)); }
  const Expr* mul(const Expr* a, double b) { return mul(a, lit(a, b)); }
  const Expr* reduce(std::string_view relax_op, const Expr* x, const Ints& axes, bool keepdims);
  const Expr* cast(const Expr* x, DType t);
  const Expr* to_float8(const Expr* x, DType t);  // numbers that are too large become the largest one
  const Expr* reshape(const Expr* x, const Dims& dims);
  const Expr* permute(const Expr* x, const Ints& axes);
  const Expr* expand(const Expr* x, const Ints& axes);
  const Expr* take_at(const Expr* x, const Expr* indices, std::size_t axis);
  const Expr* slice(const Expr* x, std::size_t axis, std::int64_t begin, std::int64_t end);
  const Expr* join(const Exprs& tensors, std::int64_t axis);
  const Expr* matmul(const Expr* a, const Expr* b);
  const Expr* broadcast_to(const Expr* x, const Dims& dims);
  const Expr* full(const Dims& dims, DType t, double v);
  // 0, 1, ... up to a dim, as int64, of this rank: along the axis.
  const Expr* positions(const Expr* extent, std::size_t axis, std::size_t rank);
  // Indices from the end are counted from the beginning.
  const Expr* from_start(const Expr* indices, const Expr* extent);
  const Expr* ints(const Ints& values);  // a constant tensor of rank 1
  // A constant tensor of these elements.
  const Expr* constant(const std::vector<double>& values, const Ints& shape, DType t);

 private:
  std::optional<source::Message> failure_;
};

template <class T>
T Chain::take(ir::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  if (!failure_) failure_ = std::move(result).error();
  return T();
}

}  // namespace rldb::onnx::bodies
