// Reductions, scans, order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/ops/chain.h"
#include "onnx/ops/fold.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/order.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/order_attr.h"

namespace rldb::onnx::bodies {

namespace {

// The axes of a reduction; if none are given all of them, or none with `noop_with_empty_axes`.
Ints reduced_axes(Chain& m, const Expr* x) {
  NodeContext& c = m.c;
  const auto given = m.good() ? m.take(c.ints_of(key::Axes, 1)) : std::nullopt;
  const bool none = !given || given->empty();
  if (none && c.integer(key::NoopWithEmptyAxes, 0) != 0) return {};
  if (none) return iota(0, std::int64_t(m.rank(x)));
  Ints axes;
  for (const std::int64_t a : *given) axes.push_back(std::int64_t(m.axis(a, x)));
  return axes;
}

// The result over no elements: an end of the dtype's range, 0 or 1, as the definitions of the reductions have it. The
// mean of none is not defined; it is what 0 / 0 is.
const Expr* of_none(Chain& m, std::string_view by, DType t) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (by == op::Max) return t.is_float() ? m.ctx.literal(t, -infinity) : ir::min_value(m.ctx, t);
  if (by == op::Min) return t.is_float() ? m.ctx.literal(t, infinity) : ir::max_value(m.ctx, t);
  if (by == op::Mean && t.is_float()) return m.ctx.literal(t, std::numeric_limits<double>::quiet_NaN());
  return m.ctx.literal(t, by == op::Prod ? 1 : 0);
}

// A tensor that a literal fills.
const Expr* filled(Chain& m, const Dims& dims, const Expr* literal) {
  const DType t = literal->dtype();
  const auto whole = int_of(literal);
  const auto made = runtime::Tensor::empty({}, t);
  if (!made.ok()) return m.fail(made.error().message);
  if (whole) runtime::store_int((*made)->data(), t, *whole);
  if (const auto* real = ir::as<ir::FloatImm>(literal)) runtime::store_double((*made)->data(), t, real->value);
  return m.op(op::Full, {m.ctx.shape(dims), m.ctx.constant(runtime::Value(*made))}, {{op_attr::Dtype, m.ctx.attr(t)}});
}

// Relax's reduction, and what no elements make, which only a run may show: its kernel writes nothing then, since not
// even the first iteration runs, which initialises.
const Expr* reduced(Chain& m, std::string_view by, const Expr* x, const Ints& axes, bool keepdims) {
  const Dims dims = m.dims(x);
  const DType t = m.dtype(x);
  if (!m.good()) return nullptr;
  const Expr *one = m.c.i64(1), *empty = nullptr;
  bool surely = false;
  for (const std::int64_t a : axes) {
    const Expr* d = dims[std::size_t(a)];
    surely = surely || ir::is_const(d, 0);
    if (ir::Analyzer(m.ctx).prove(ir::compare(m.ctx, ir::BinaryKind::GE, d, one))) continue;
    const Expr* is_none = ir::compare(m.ctx, ir::BinaryKind::EQ, d, m.c.i64(0));
    empty = empty ? ir::logical_or(m.ctx, empty, is_none) : is_none;
  }
  if (!empty) return m.reduce(by, x, axes, keepdims);
  const Expr* none = of_none(m, by, t);
  if (surely) {
    Dims left;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      const bool gone = std::find(axes.begin(), axes.end(), std::int64_t(k)) != axes.end();
      if (!gone || keepdims) left.push_back(gone ? one : dims[k]);
    }
    return filled(m, left, none);
  }
  const Expr* made = m.reduce(by, x, axes, keepdims);
  if (!made) return nullptr;
  return m.take(m.c.kernel("onnx_reduction_of_none", {made}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor from = te.in[0];
    const Expr* where = te.map(empty);
    return {te.graph.compute(
        from->shape,
        [&](te::Indices i) { return static_cast<const Expr*>(te.ctx.select(where, none, te.graph.load(from, i))); },
        "T_reduction_of_none")};
  }));
}

// `before` and `after`: of each element, and of the results.
template <class Before, class After>
Made reduced_by(NodeContext& c, Before&& before, After&& after) {
  Chain m(c);
  const Expr* x = m.in(0);
  // The work on each element is done without axes too.
  const Ints axes = reduced_axes(m, x);
  const DType t = m.dtype(x);
  // Of 0 and 1: the ends of the range are those of bool.
  if (t.is_bool()) x = m.cast(x, DType::Int(8));
  const Expr* part = before(m, x);
  // Without axes there is nothing to reduce.
  const Expr* made = axes.empty() ? part : reduced(m, c.target, part, axes, c.integer(key::Keepdims, 1) != 0);
  if (t.is_bool() && !axes.empty()) made = m.clamp(made, m.lit(made, 0), m.lit(made, 1));
  return m.done(m.cast(after(m, made), t));
}

const Expr* as_it_is(Chain&, const Expr* x) { return x; }
const Expr* absolute(Chain& m, const Expr* x) { return m.unary(op::Abs, x); }
const Expr* squared(Chain& m, const Expr* x) { return m.mul(x, x); }
const Expr* root(Chain& m, const Expr* x) {
  return m.dtype(x).is_float() ? m.sqrt(x) : m.sqrt(m.cast(x, DType::Float(64)));
}
const Expr* logarithm(Chain& m, const Expr* x) {
  return m.unary(op::Log, m.dtype(x).is_float() ? x : m.cast(x, DType::Float(64)));
}

}  // namespace

Made reduce(NodeContext& c) {
  if (fold_reduce(c)) return nullptr;
  return reduced_by(c, as_it_is, as_it_is);
}
Made reduce_l1(NodeContext& c) { return reduced_by(c, absolute, as_it_is); }
Made reduce_l2(NodeContext& c) { return reduced_by(c, squared, root); }
Made reduce_sum_square(NodeContext& c) { return reduced_by(c, squared, as_it_is); }
Made reduce_log_sum(NodeContext& c) { return reduced_by(c, as_it_is, logarithm); }

// The largest element is taken out, so that no power overflows.
Made reduce_log_sum_exp(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Ints axes = reduced_axes(m, x);
  const DType t = m.dtype(x);
  if (axes.empty()) return m.done(x);
  if (!t.is_float()) x = m.cast(x, DType::Float(64));
  const bool keep = c.integer(key::Keepdims, 1) != 0;
  const Expr* largest = reduced(m, op::Max, x, axes, true);
  // An infinite one is left in.
  largest = m.where(m.unary(op::Isfinite, largest), largest, m.lit(largest, 0));
  const Expr* sum = m.unary(op::Log, reduced(m, op::Sum, m.exp(m.sub(x, largest)), axes, keep));
  if (!sum) return m.done(nullptr);
  return m.done(m.cast(m.add(sum, m.reshape(largest, m.dims(sum))), t));
}

// The first of equal elements, or the last one.
Made arg_extreme(NodeContext& c) {
  Chain m(c);
  // Relax's kernels begin with the place -1 and the least number of the type: a row of such numbers keeps that place.
  const DType t = m.dtype(m.in(0));
  const bool narrow = (t.is_int() || t.is_uint()) && t.bits < 32;
  const bool is_uint32 = t.is_uint() && t.bits == 32;
  const Expr* x = narrow || is_uint32 ? m.cast(m.in(0), DType::Int(is_uint32 ? 64 : 32)) : m.in(0);
  const std::size_t axis = m.axis(c.integer(key::Axis, 0), x);
  if (!m.good()) return m.done(nullptr);
  // No elements have no largest one: an error when the program runs, where no proof shows that there are some.
  const Expr *extent = m.dims(x)[axis], *one = c.i64(1);
  if (ir::is_const(extent, 0)) return refuse(fmt::format("its axis {} has no elements", axis));
  if (!ir::Analyzer(c.ctx).prove(ir::compare(c.ctx, ir::BinaryKind::GE, extent, one)))
    c.blocks.emit_match_cast(c.ctx.shape(Dims{ir::max(c.ctx, extent, one)}), c.ctx.shape_type(Dims{extent}));
  const bool last = c.integer(key::SelectLastIndex, 0) != 0;
  const ir::Attr* at = c.ctx.attr(std::int64_t(axis));
  if (last) x = m.op(op::Flip, {x}, {{op_attr::Axis, at}});
  const Expr* made = m.cast(
      m.op(c.target, {x}, {{op_attr::Axis, at}, {op_attr::Keepdims, c.ctx.attr(c.integer(key::Keepdims, 1) != 0)}}),
      DType::Int(64));
  if (!last) return m.done(made);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  const Expr* highest = m.take(c.tensor_from({DType::Int(64), 0, {ir::sub(c.ctx, dims[axis], c.i64(1))}}));
  return m.done(m.sub(highest, made));
}

Made cumulative(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const auto given = c.ints_in(1);
  if (!given.ok()) return support::Failure(given.error());
  if (given->size() != 1) return refuse("its axis is not one number");
  const ir::Attr* axis = c.ctx.attr(std::int64_t(m.axis((*given)[0], x)));
  const auto turned = [&](const Expr* e) {
    return c.integer(key::Reverse, 0) != 0 ? m.op(op::Flip, {e}, {{op_attr::Axis, axis}}) : e;
  };
  const Expr* made = m.op(c.target, {turned(x)},
                          {{op_attr::Axis, axis},
                           {op_attr::Dtype, c.ctx.attr(m.dtype(x))},
                           {op_attr::Exclusive, c.ctx.attr(c.integer(key::Exclusive, 0) != 0)}});
  return m.done(turned(made));
}

namespace {

// (values, places), without elements: 0 of them would be all for Relax's operator.
Made none_of(Chain& m, const Expr* x, std::size_t axis) {
  Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  dims[axis] = m.c.i64(0);
  const Expr *values = m.full(dims, m.dtype(x), 0), *places = m.full(dims, DType::Int(64), 0);
  return m.good() ? Made(static_cast<const Expr*>(m.ctx.tuple(Exprs{values, places}))) : m.done(nullptr);
}

// As many of each tensor of a tuple; more than there are, or fewer than none, are an error when the program runs.
Made first_of(NodeContext& c, const Expr* tuple, std::size_t axis, const Expr* count, const Expr* extent) {
  c.blocks.emit_match_cast(c.ctx.shape(Dims{ir::max(c.ctx, extent, count)}), c.ctx.shape_type(Dims{extent}));
  c.blocks.emit_match_cast(c.ctx.shape(Dims{ir::min(c.ctx, count, c.i64(0))}), c.ctx.shape_type(Dims{c.i64(0)}));
  RLDB_TRY(const Exprs all, c.fields_of(tuple));
  Exprs made;
  const Expr *axes[] = {c.i64(std::int64_t(axis))}, *begin[] = {c.i64(0)}, *end[] = {count}, *step[] = {c.i64(1)};
  for (const Expr* x : all) {
    RLDB_TRY(const Expr* part,
             c.emit(op::StridedSlice, {x, c.ctx.tuple(axes), c.ctx.tuple(begin), c.ctx.tuple(end), c.ctx.tuple(step)},
                    {{op_attr::AssumeInbound, c.ctx.attr(true)}}));
    made.push_back(part);
  }
  return static_cast<const Expr*>(c.ctx.tuple(made));
}

}  // namespace

Made top_k(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  Dims given{c.i64(c.integer(key::K, 1))};
  if (c.opset >= 10) {
    RLDB_TRY(given, c.shape_in(1));
  }
  if (given.size() != 1) return refuse("the number of its elements is not one number");
  const std::size_t axis = m.axis(c.integer(key::Axis, -1), x);
  const auto k = int_of(given[0]);
  if (k && *k < 0) return refuse("the number of its elements is negative");
  const auto extent = m.good() ? int_of(m.dims(x)[axis]) : std::nullopt;
  if (k && extent && *k > *extent)
    return refuse(fmt::format("{} elements are requested along axis {}, which has {}", *k, axis, *extent));
  if (k && *k == 0) return none_of(m, x, axis);
  // All of them, of which as many are taken as only a run knows.
  constexpr std::int64_t kAll = -1;
  const Expr* made = m.op(op::Topk, {x},
                          {{op_attr::K, c.ctx.attr(k.value_or(kAll))},
                           {op_attr::Axis, c.ctx.attr(std::int64_t(axis))},
                           {op_attr::Largest, c.ctx.attr(c.integer(key::Largest, 1) != 0)},
                           {op_attr::Dtype, c.ctx.attr(DType::Int(64))}});
  return k || !m.good() ? m.done(made) : first_of(c, made, axis, given[0], m.dims(x)[axis]);
}

// (values, the first index of each, the inverse, counts); their number is known at run time only.
Made unique(NodeContext& c) {
  RLDB_TRY(const ir::TensorType* data, c.type(0));
  RLDB_TRY(const Expr* x, c.in(0));
  const auto yes = [&](bool v) { return static_cast<const Expr*>(c.ctx.bool_imm(v)); };
  Exprs operands{x, yes(c.integer(key::Sorted, 1) != 0), yes(true), yes(true), yes(true)};
  std::size_t axis = 0;
  const bool along = c.attr(key::Axis) != nullptr;
  if (along) {
    RLDB_TRY(axis, c.axis(c.integer(key::Axis, 0), data->shape.size()));
    operands.push_back(c.i64(std::int64_t(axis)));
  }
  RLDB_TRY(const Expr* all, c.emit(op::Unique, operands));
  RLDB_TRY(const Exprs parts, c.fields_of(all));
  const Expr* n = c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64());
  Dims values{n};
  if (along) values = Dims(data->shape.begin(), data->shape.end());
  if (along) values[axis] = n;
  const Dims whole{along ? data->shape[axis] : ir::product(c.ctx, data->shape)};
  Exprs made;
  for (std::size_t k = 0; k < parts.size(); ++k)
    made.push_back(c.blocks.emit_match_cast(parts[k], c.ctx.tensor(k == 0   ? values
                                                                   : k == 2 ? whole
                                                                            : Dims{n},
                                                                   k == 0 ? data->dtype : DType::Int(64))));
  return static_cast<const Expr*>(c.ctx.tuple(made));
}

// A row for each axis.
Made non_zero(NodeContext& c) {
  RLDB_TRY(const ir::TensorType* t, c.type(0));
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Expr* found, c.emit(op::Nonzero, {x}));
  const Expr* n = c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64());
  if (t->ndim == 0) {
    // Relax takes a scalar for a vector of one element; here it has no axis, so that there is no row.
    Chain m(c);
    const Expr* row = c.blocks.emit_match_cast(found, c.ctx.tensor(Dims{c.i64(1), n}, DType::Int(64)));
    return m.done(m.slice(row, 0, 0, 0));
  }
  const Dims dims{c.i64(t->ndim), n};
  return static_cast<const Expr*>(c.blocks.emit_match_cast(found, c.ctx.tensor(dims, DType::Int(64))));
}

}  // namespace rldb::onnx::bodies
