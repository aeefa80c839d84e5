// Indexing: elements and slices at places, and their updates.
#include "rldb/ir/op/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/ops/chain.h"
#include "onnx/ops/fold.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/order.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/walk.h"

namespace rldb::onnx::bodies {

namespace {

// Of a vector that is known, at indices that are.
bool gather_known(NodeContext& c) {
  // A table that is a value of the run stays one, also at an index that is known.
  const auto x = c.known(0), at = c.known_beside_sizes(1);
  if (!x || !at || x->rank != 1 || at->rank > 1 || at->dtype.is_float()) return false;
  const auto n = std::int64_t(x->items.size());
  Known made{x->dtype, at->rank, {}};
  for (const Expr* e : at->items) {
    const auto i = int_of(e);
    if (!i || *i < -n || *i >= n) return false;
    made.items.push_back(x->items[std::size_t(*i < 0 ? *i + n : *i)]);
  }
  c.note_read(1);
  c.know(std::move(made));
  return true;
}

}  // namespace

Made gather(NodeContext& c) {
  if (gather_known(c)) return nullptr;
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t axis = m.axis(c.integer(key::Axis, 0), x);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.take_at(x, m.from_start(m.in(1), dims[axis]), axis));
}

Made gather_elements(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t axis = m.axis(c.integer(key::Axis, 0), x);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  return m.done(m.op(op::GatherElements, {x, m.from_start(m.in(1), dims[axis])},
                     {{op_attr::Axis, c.ctx.attr(std::int64_t(axis))}}));
}

namespace {

// The last axis of the indices names one place in each of the axes from `first` on.
const Expr* tuples_from_start(Chain& m, const Expr* indices, const Dims& dims, std::size_t first) {
  const std::size_t rank = m.rank(indices);
  if (!m.good() || rank == 0) return m.fail("its indices are not of rank 1 or more");
  const auto count = std::size_t(m.size(indices, rank - 1));
  if (first + count > dims.size()) return m.fail("its indices name more axes than its data has");
  indices = m.cast(indices, DType::Int(64));
  Known extents{DType::Int(64), 1,
                Exprs(dims.begin() + std::ptrdiff_t(first), dims.begin() + std::ptrdiff_t(first + count))};
  if (!m.good()) return nullptr;
  const Expr* length = m.take(m.c.tensor_from(extents));
  return m.where(m.each(op::Less, indices, m.lit(indices, 0)), m.add(indices, length), indices);
}

ir::Result<std::string> reduction_of(const NodeContext& c) {
  RLDB_TRY(std::string given, c.word(key::Reduction, "none", {"none", "add", "mul", "max", "min"}));
  return given == "none" ? std::string("update") : given;
}

}  // namespace

Made gather_nd(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::int64_t batch = c.integer(key::BatchDims, 0);
  if (batch < 0) return refuse("the number of its batch dims is negative");
  const Expr* indices = tuples_from_start(m, m.in(1), m.dims(x), std::size_t(batch));
  return m.done(m.op(op::GatherNd, {x, indices}, {{op_attr::BatchDims, c.ctx.attr(batch)}}));
}

Made scatter_elements(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  const std::size_t axis = m.axis(c.integer(key::Axis, 0), x);
  const Dims dims = m.dims(x);
  RLDB_TRY(const std::string how, reduction_of(c));
  if (!m.good()) return m.done(nullptr);
  return m.done(m.op(op::ScatterElements, {x, m.from_start(m.in(1), dims[axis]), m.in(2)},
                     {{op_attr::Axis, c.ctx.attr(std::int64_t(axis))}, {op_attr::Reduction, c.ctx.attr(how)}}));
}

namespace {

// A slice for each tuple of indices: dims that are not proved to be so are checked when the program runs.
const Expr* with_dims_of_places(Chain& m, const Expr* updates, const Dims& indices, const Dims& x) {
  const auto size = m.good() && !indices.empty() ? int_of(indices.back()) : std::nullopt;
  if (!size || *size < 0 || *size > std::int64_t(x.size())) return updates;
  Dims wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), x.begin() + *size, x.end());
  if (m.rank(updates) != wanted.size()) return updates;
  for (std::size_t k = 0; k < wanted.size(); ++k) updates = m.c.with_dim(updates, k, wanted[k]);
  return updates;
}

}  // namespace

Made scatter_nd(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  RLDB_TRY(const std::string how, reduction_of(c));
  const Expr* indices = tuples_from_start(m, m.in(1), m.dims(x), 0);
  const Expr* updates = with_dims_of_places(m, m.in(2), m.dims(indices), m.dims(x));
  return m.done(m.op(op::ScatterNd, {x, indices, updates}, {{op_attr::Reduction, c.ctx.attr(how)}}));
}

namespace {

// Bounds from the end, and bounds beyond it. A walk backwards from before the first element begins there, unlike one of
// Python. An empty cut ends where it begins.
Cut within(Cut cut, std::int64_t n) {
  if (n == 0) return {cut.axis, 0, 0, cut.step};
  const bool forward = cut.step > 0;
  const std::int64_t high = forward ? n : n - 1;
  for (std::int64_t* bound : {&cut.begin, &cut.end})
    if (*bound < 0) *bound += n;
  cut.begin = std::clamp(cut.begin, std::int64_t(0), high);
  cut.end = std::clamp(cut.end, std::int64_t(forward ? 0 : -1), high);
  if (forward ? cut.end < cut.begin : cut.end > cut.begin) cut.end = cut.begin;
  return cut;
}

// Bounds and axes are attributes in the first versions.
ir::Result<std::vector<Cut>> cuts_of(NodeContext& c, std::size_t rank) {
  RLDB_TRY(const auto begins, c.ints_of(key::Starts, 1));
  RLDB_TRY(const auto ends, c.ints_of(key::Ends, 2));
  RLDB_TRY(const auto axes, c.ints_of(key::Axes, 3));
  if (!begins || !ends || begins->size() != ends->size()) return refuse("its bounds are not known");
  Ints steps(begins->size(), 1);
  if (c.has(4)) {
    RLDB_TRY(steps, c.ints_in(4));
  }
  const Ints which = axes && !axes->empty() ? *axes : iota(0, std::int64_t(begins->size()));
  if (which.size() != begins->size() || steps.size() != begins->size())
    return refuse("its bounds, axes and steps differ in number");
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < which.size(); ++i) {
    RLDB_TRY(const std::size_t axis, c.axis(which[i], rank));
    if (steps[i] == 0) return refuse("a step is 0");
    cuts.push_back({axis, (*begins)[i], (*ends)[i], steps[i]});
  }
  return cuts;
}

bool slice_known(NodeContext& c) {
  const auto x = c.known(0);
  if (!x || x->rank < 1) return false;
  const Ints shape = shape_of(*x);
  const auto given = cuts_of(c, shape.size());
  if (!given.ok()) return false;
  std::vector<Cut> cuts;
  for (const Cut& cut : *given) cuts.push_back(within(cut, shape[cut.axis]));
  return fold_slice(c, cuts);
}

// A bound of an axis whose extent is a symbol, for R.strided_slice: where a walk begins or ends if it is beyond all.
const Expr* symbolic_bound(NodeContext& c, std::int64_t bound, const Expr* extent, std::int64_t step) {
  constexpr std::int64_t kBeyond = INT32_MAX;
  if (bound >= kBeyond) return step > 0 ? extent : ir::sub(c.ctx, extent, c.i64(1));
  // -1 would be the last element: a walk to the first one ends before it.
  if (bound <= -kBeyond) return step > 0 ? static_cast<const Expr*>(c.i64(0)) : ir::sub(c.ctx, c.i64(-1), extent);
  return c.i64(bound);  // below 0 from the end, as there
}

// A walk backwards begins at the first element at least.
const Expr* symbolic_begin(NodeContext& c, std::int64_t bound, const Expr* extent, std::int64_t step) {
  if (step > 0 || bound >= 0) return symbolic_bound(c, bound, extent, step);
  if (bound <= -INT32_MAX) return c.i64(0);
  return ir::max(c.ctx, ir::add(c.ctx, extent, c.i64(bound)), c.i64(0));
}

}  // namespace

namespace {

// A bound of the axis: one below 0 counts from the end.
const Expr* from_either_end(ir::Context& ctx, const Expr* bound, const Expr* extent) {
  ir::Analyzer analyzer(ctx);
  std::vector<const ir::Var*> dims;
  ir::collect_vars(bound, dims);
  for (const ir::Var* v : dims) analyzer.mark_non_negative(v);
  if (analyzer.bounds(bound).min.value_or(-1) >= 0) return bound;
  const Expr* from_end = ir::max(ctx, ir::add(ctx, extent, bound), ctx.i64(0));
  return ctx.select(ir::compare(ctx, ir::BinaryKind::LT, bound, ctx.i64(0)), from_end, bound);
}

// Bounds that are expressions of shape variables, which are not negative. One that is beyond its axis is an error when
// the program runs.
Made slice_by_symbols(NodeContext& c, const Expr* x, const Dims& dims) {
  RLDB_TRY(const Dims begins, c.dims_in(1));
  RLDB_TRY(const Dims ends, c.dims_in(2));
  RLDB_TRY(const auto given, c.ints_of(key::Axes, 3));
  const Ints which = given && !given->empty() ? *given : iota(0, std::int64_t(begins.size()));
  RLDB_TRY(const Ints steps, c.has(4) ? c.ints_in(4) : ir::Result<Ints>(Ints(begins.size(), 1)));
  if (which.size() != begins.size() || ends.size() != begins.size() || steps.size() != begins.size())
    return refuse("its bounds, axes and steps differ in number");
  Exprs axes, from, to, by;
  for (std::size_t i = 0; i < which.size(); ++i) {
    RLDB_TRY(const std::size_t axis, c.axis(which[i], dims.size()));
    if (steps[i] < 1) return refuse("a step is not positive, and its bounds are not known");
    const auto bound = [&](const Expr* e) {
      const auto n = int_of(e);
      const bool from_end = n && *n < 0 && *n > -INT32_MAX;
      return n && !from_end ? symbolic_bound(c, *n, dims[axis], steps[i]) : from_either_end(c.ctx, e, dims[axis]);
    };
    axes.push_back(c.i64(std::int64_t(axis)));
    from.push_back(bound(begins[i]));
    to.push_back(bound(ends[i]));
    by.push_back(c.i64(steps[i]));
  }
  return c.emit(op::StridedSlice, {x, c.ctx.tuple(axes), c.ctx.tuple(from), c.ctx.tuple(to), c.ctx.tuple(by)},
                {{op_attr::AssumeInbound, c.ctx.attr(true)}});
}

// Bounds that are known at run time only. Axes and steps are known.
Made slice_at_run_time(NodeContext& c, const Expr* x, const Dims& dims) {
  Chain m(c);
  const Expr *begins = m.cast(m.in(1), DType::Int(64)), *ends = m.cast(m.in(2), DType::Int(64));
  const std::int64_t count = m.size(begins, 0);
  RLDB_TRY_VOID(m.done(nullptr));
  if (count > std::int64_t(dims.size())) return refuse("it has more bounds than its data has axes");
  RLDB_TRY(const auto given, c.ints_of(key::Axes, 3));
  const Ints axes = given && !given->empty() ? *given : iota(0, count);
  RLDB_TRY(const Ints steps, c.has(4) ? c.ints_in(4) : ir::Result<Ints>(Ints(std::size_t(count), 1)));
  if (axes.size() != std::size_t(count) || steps.size() != axes.size())
    return refuse("its bounds, axes and steps differ in number");
  Exprs from, to;
  Ints by(dims.size(), 1);
  for (const Expr* d : dims) {
    from.push_back(m.ints({0}));
    to.push_back(m.good() ? m.take(c.tensor_from({DType::Int(64), 1, {d}})) : nullptr);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = m.axis(axes[i], x);
    if (!m.good()) break;
    from[axis] = m.slice(begins, 0, std::int64_t(i), std::int64_t(i) + 1);
    to[axis] = m.slice(ends, 0, std::int64_t(i), std::int64_t(i) + 1);
    by[axis] = steps[i];
  }
  const Expr* made = m.op(op::DynamicStridedSlice, {x, m.join(from, 0), m.join(to, 0), m.ints(by)});
  const DType t = m.dtype(x);
  RLDB_TRY_VOID(m.done(nullptr));
  Dims now;
  for (std::size_t k = 0; k < dims.size(); ++k) now.push_back(c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64()));
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const bool cut = std::any_of(axes.begin(), axes.end(), [&](std::int64_t a) {
      return std::size_t(a < 0 ? a + std::int64_t(dims.size()) : a) == k;
    });
    if (!cut) now[k] = dims[k];
  }
  return static_cast<const Expr*>(c.blocks.emit_match_cast(made, c.ctx.tensor(now, t)));
}

}  // namespace

Made slice(NodeContext& c) {
  if (slice_known(c)) return nullptr;
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  const bool by_operands = c.has(1) && c.has(2);
  const bool decided = c.decides(1) && c.decides(2);
  const auto known = [&](std::size_t i) { return c.known(i) || c.decides(i); };
  if (by_operands && !decided && known(1) && known(2)) return slice_by_symbols(c, x, dims);
  if (by_operands && !decided) return slice_at_run_time(c, x, dims);
  RLDB_TRY(const std::vector<Cut> cuts, cuts_of(c, dims.size()));
  Exprs axes, begins, ends, steps;
  for (const Cut& given : cuts) {
    const Expr* extent = dims[given.axis];
    const auto n = int_of(extent);
    const Cut cut = n ? within(given, *n) : given;
    axes.push_back(c.i64(std::int64_t(cut.axis)));
    steps.push_back(c.i64(cut.step));
    begins.push_back(n ? c.i64(cut.begin) : symbolic_begin(c, cut.begin, extent, cut.step));
    // -1 would be the last element: a walk to the first one ends beyond it.
    const std::int64_t end = n && cut.end < 0 ? -*n - 1 : cut.end;
    ends.push_back(n ? c.i64(end) : symbolic_bound(c, cut.end, extent, cut.step));
  }
  if (axes.empty()) return x;
  return c.emit(op::StridedSlice, {x, c.ctx.tuple(axes), c.ctx.tuple(begins), c.ctx.tuple(ends), c.ctx.tuple(steps)});
}

// Operands: indices, the depth, the values where there is no index and where there is one.
Made one_hot(NodeContext& c) {
  RLDB_TRY(const Dims given, c.dims_in(1));
  if (given.size() != 1) return refuse("its depth is not one number");
  const Expr* depth = given[0];
  Chain m(c);
  const Expr* indices = m.from_start(m.cast(m.in(0), DType::Int(64)), depth);
  const auto rank = std::int64_t(m.rank(indices)) + 1;
  RLDB_TRY(const std::size_t axis, c.axis(c.integer(key::Axis, -1), std::size_t(rank)));
  const Expr* wide = m.expand(indices, {std::int64_t(axis)});
  const Expr* hit = m.each(op::Equal, wide, m.positions(depth, axis, std::size_t(rank)));
  const auto value = [&](std::int64_t i) { return m.reshape(m.slice(m.in(2), 0, i, i + 1), {}); };
  return m.done(m.where(hit, value(1), value(0)));
}

// Slices along an axis, or elements, where the condition is true.
Made compress(NodeContext& c) {
  Chain m(c);
  const Expr* x = m.in(0);
  std::size_t axis = 0;
  if (c.attr(key::Axis))
    axis = m.axis(c.integer(key::Axis, 0), x);
  else
    x = m.reshape(x, {ir::product(c.ctx, m.dims(x))});
  const Expr* found = m.op(op::Nonzero, {m.in(1)});
  if (!m.good()) return m.done(nullptr);
  const Expr* n = c.ctx.var(c.blocks.unique_name("n"), c.ctx.int64());
  const Expr* row = c.blocks.emit_match_cast(found, c.ctx.tensor(Dims{c.i64(1), n}, DType::Int(64)));
  return m.done(m.take_at(x, m.reshape(row, {n}), axis));
}

Made reverse_sequence(NodeContext& c) {
  RLDB_TRY(const std::int64_t time, c.choice(key::TimeAxis, 0, {0, 1}));
  RLDB_TRY(const std::int64_t batch, c.choice(key::BatchAxis, 1, {0, 1}));
  if (time == batch) return refuse(fmt::format("axis {} is both its time and its batch", time));
  Chain m(c);
  return m.done(m.op(op::ReverseSequence, {m.in(0), m.in(1)},
                     {{op_attr::SeqAxis, c.ctx.attr(time)}, {op_attr::BatchAxis, c.ctx.attr(batch)}}));
}

}  // namespace rldb::onnx::bodies
