// Solvers of operators that combine elements along axes: reductions, scans, orders.
#include "repro/fuzz/attributes.h"
#include "repro/fuzz/solve.h"
#include "rldb/ir/op/order.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/order_attr.h"
#include "rldb/ir/scalar.h"

namespace rldb::repro::solver {

using ir::DType;

namespace {

// None, or some axes in any order.
std::optional<std::vector<std::int64_t>> some_axes(Maker& m, const Known& x) {
  if (x.ndim() == 0 || m.random.one_in(4)) return std::nullopt;
  return m.axes_of(x.ndim());
}

double elements_along(const Known& x, const std::optional<std::vector<std::int64_t>>& axes) {
  if (!axes) return double(std::max<std::int64_t>(1, most_elements(x.type)));
  double n = 1;
  for (std::int64_t a : *axes) n *= double(most_of(x.dim(int(a < 0 ? a + x.ndim() : a))));
  return std::max(n, 1.0);
}

Attributes& add_axes(Attributes& to, const std::optional<std::vector<std::int64_t>>& axes) {
  return axes ? to.add(op_attr::Axis, *axes) : to.none(op_attr::Axis);
}

Attributes& add_axis(Attributes& to, std::optional<std::int64_t> axis) {
  return axis ? to.add(op_attr::Axis, *axis) : to.none(op_attr::Axis);
}

}  // namespace

bool reduction(Maker& m, const ops::OpInfo& op) {
  const bool sum = op.name == op::Sum, prod = op.name == op::Prod;
  const bool extreme = op.name == op::Max || op.name == op::Min;
  const Known x = m.operand({extreme || sum || prod ? Kind::Number : Kind::Float, 0, 4,
                             prod      ? Range{-1, 1}
                             : extreme ? kEverything
                                       : Range{-200, 200}});
  const auto axes = some_axes(m, x);
  const double n = elements_along(x, axes);
  Known used = x;
  Range r = x.range.hull();
  double error = x.error;
  if (sum) {
    const double most = std::max(1.0, std::floor(moderate(x.dtype()).high / n));
    used = m.within(x, {x.dtype().is_uint() ? 0 : -most, most});
    r = times(used.range, n) | used.range;
    error = used.error * n;
    if (x.dtype().is_integral() && !moderate(x.dtype()).contains(r)) return false;
  } else if (prod) {
    error = x.error * n;
  } else if (!extreme) {
    // The square root near zero turns an error e into sqrt(e).
    const bool spread = op.name == op::Std;
    const double square = x.range.largest() * x.range.largest();
    if (op.name != op::Mean) r = {0, spread ? x.range.largest() : square};
    error = op.name == op::Mean ? x.error
            : spread            ? std::sqrt(x.error + rounding_of(x.dtype()) * std::max(1.0, square)) * 2
                                : 4 * x.error * x.range.largest() + rounding_of(x.dtype()) * square * 4;
  }
  if (x.dtype().is_uint()) r.low = 0;
  Attributes attrs(m, op);
  add_axes(attrs, axes).add(op_attr::Keepdims, m.flip());
  return m.emit(op, {used.var}, attrs, {r, extreme && x.exact, error + (extreme ? 0 : n * rounding_of(x.dtype()))})
      .has_value();
}

bool median(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4, kEverything, true});
  const auto axes = some_axes(m, x);
  Attributes attrs(m, op);
  add_axes(attrs, axes).add(op_attr::Keepdims, m.flip());
  const double most = std::max(x.range.largest(), elements_along(x, axes));
  return m.emit(op, {x.var}, attrs, {{-most, most}, true, 0}).has_value();
}

bool arg_reduction(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 1, 4, kEverything, true});
  std::optional<std::int64_t> axis;
  if (!m.random.one_in(4)) axis = m.axis_of(x.ndim());
  Attributes attrs(m, op);
  add_axis(attrs, axis).add(op_attr::Keepdims, m.flip());
  return m.emit(op, {x.var}, attrs, {{0, double(most_elements(x.type))}, true, 0}).has_value();
}

bool scan(Maker& m, const ops::OpInfo& op) {
  const bool sum = op.name == op::Cumsum;
  const auto is_wide = [](const Known& v) { return !v.dtype().is_int() || v.dtype().bits > 8; };
  const Known x = m.operand({Kind::Signed, 1, 4, sum ? Range{-10, 10} : Range{-1, 1}, false, is_wide});
  std::optional<std::int64_t> axis;
  if (!m.random.one_in(4)) axis = m.axis_of(x.ndim());
  const auto along = axis ? std::optional(std::vector<std::int64_t>{*axis}) : std::nullopt;
  const double n = elements_along(x, along);
  Attributes attrs(m, op);
  add_axis(attrs, axis).add(op_attr::Exclusive, m.flip());
  if (m.random.one_in(3)) attrs.add(op_attr::Dtype, x.dtype().is_float() ? DType::Float(64) : DType::Int(64));
  const Range r = sum ? times(x.range.hull(), n) : Range{-1, 1};
  return m.emit(op, {x.var}, attrs, {r, false, x.error * n + n * rounding_of(x.dtype()) * r.largest()}).has_value();
}

bool softmax(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4, Range{-30, 30}});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.axis_of(x.ndim()));
  const bool log = op::find(op.name)->id == op::Id::NnLogSoftmax;
  return m
      .emit(op, {x.var}, attrs, {log ? Range{-70, 0} : Range{0, 1}, false, 2 * x.error + rounding_of(x.dtype()) * 70})
      .has_value();
}

bool sort(Maker& m, const ops::OpInfo& op) {
  const bool indices = op.name == op::Argsort;
  const Known x = m.operand({Kind::Number, 1, 4, kEverything, indices});
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.axis_of(x.ndim())).add(op_attr::Descending, m.flip());
  attrs.add(op_attr::Dtype, m.flip() ? DType::Int(32) : DType::Int(64));
  return m.emit(op, {x.var}, attrs, {indices ? Range{0, 64} : x.range, x.exact, x.error}).has_value();
}

bool topk(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Number, 1, 4, kEverything, true});
  const int axis = int(m.random.below(std::size_t(x.ndim())));
  const std::int64_t most = least_of(x.dim(axis));
  if (most < 1) return false;
  Attributes attrs(m, op);
  attrs.add(op_attr::Axis, m.either(axis, x.ndim())).add(op_attr::Largest, m.flip());
  attrs.add(op_attr::K, std::int64_t(1 + m.random.below(std::size_t(std::min<std::int64_t>(most, 5)))));
  attrs.add(op_attr::Dtype, m.flip() ? DType::Int(32) : DType::Int(64));
  return m.emit(op, {x.var}, attrs, {x.range | Range{0, 64}, true, 0}).has_value();
}

bool bucketize(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 0, 3, kEverything, true});
  const std::int64_t n = 1 + std::int64_t(m.random.below(6));
  const double step = 0.25 * double(1 + m.random.below(4));
  const auto rising = [&](std::size_t i) { return -1 + step * double(i); };
  const Known limits = m.constant({m.ctx.i64(n)}, x.dtype(), rising, {-1, -1 + step * double(n)});
  Attributes attrs(m, op);
  attrs.add(op_attr::OutInt32, m.flip()).add(op_attr::Right, m.flip());
  return m.emit(op, {x.var, limits.var}, attrs, {{0, double(n)}, true, 0}).has_value();
}

bool collapse(Maker& m, const ops::OpInfo& op) {
  const Known x = m.operand({Kind::Float, 1, 4, Range{-50, 50}});
  Dims to = dims_of(x.type);
  to.erase(to.begin(), to.begin() + std::ptrdiff_t(m.random.below(to.size())));
  for (const ir::Expr*& d : to)
    if (m.random.one_in(3)) d = m.ctx.i64(1);
  const double n = double(std::max<std::int64_t>(1, most_elements(x.type)));
  const Image image{times(x.range.hull(), n), false, x.error * n + n * rounding_of(x.dtype()) * 50};
  const bool like = op::find(op.name)->id == op::Id::CollapseSumLike;
  const ir::Expr* target = like ? static_cast<const ir::Expr*>(m.of(to, x.dtype(), kEverything).var) : m.ctx.shape(to);
  return m.emit(op, {x.var, target}, {}, image).has_value();
}

}  // namespace rldb::repro::solver
