// Shapes: operators that report, compute or change them without touching elements.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/ops/chain.h"
#include "onnx/ops/fold.h"
#include "onnx/tensor.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/support/text.h"

namespace rldb::onnx::bodies {

namespace {

Known dims_value(Dims dims) { return {DType::Int(64), 1, std::move(dims)}; }

std::int64_t clamped(std::int64_t v, std::int64_t n) { return std::clamp(v < 0 ? v + n : v, std::int64_t(0), n); }

}  // namespace

Made shape(NodeContext& c) {
  Dims dims;
  if (c.has(0) && c.inputs[0].known) {
    for (const std::int64_t n : shape_of(*c.inputs[0].known)) dims.push_back(c.i64(n));
  } else {
    RLDB_TRY(dims, c.dims(0));
  }
  const auto n = std::int64_t(dims.size());
  const std::int64_t begin = clamped(c.integer(key::Start, 0), n), end = clamped(c.integer(key::End, n), n);
  return c.know(dims_value(begin < end ? Dims(dims.begin() + begin, dims.begin() + end) : Dims()));
}

Made size(NodeContext& c) {
  RLDB_TRY(const Dims dims, c.dims(0));
  return c.know({DType::Int(64), 0, {ir::product(c.ctx, dims)}});
}

namespace {

// 0 is the dim of the operand, -1 is what the others leave.
ir::Result<Dims> resolved(NodeContext& c, const Dims& from, Dims to, bool zero_is_zero) {
  std::optional<std::size_t> open;
  Dims rest;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (ir::is_const(to[i], 0) && !zero_is_zero) {
      if (i >= from.size())
        return refuse(fmt::format("dim {} is to be copied from a tensor of rank {}", i, from.size()));
      to[i] = from[i];
    }
    if (!ir::is_const(to[i], -1)) {
      rest.push_back(to[i]);
      continue;
    }
    if (open) return refuse("two of the dims are to be computed");
    open = i;
  }
  if (!open) return to;
  // Dims on both sides are left out, so that the quotient stays simple.
  Dims left = from;
  std::erase_if(rest, [&](const Expr* d) {
    const auto same = std::find_if(left.begin(), left.end(), [&](const Expr* e) { return c.same_dim(d, e); });
    if (same == left.end() || ir::is_const(d, 0)) return false;
    left.erase(same);
    return true;
  });
  const Expr *all = ir::product(c.ctx, left), *others = ir::product(c.ctx, rest);
  if (ir::is_const(others, 0)) return refuse("a dim cannot be computed from none");
  to[*open] = ir::floor_div(c.ctx, all, others);
  ir::Analyzer analyzer(c.ctx);
  to[*open] = analyzer.simplify(to[*open]);
  return to;
}

}  // namespace

namespace {

// A shape that is known at run time only: 0 and -1 are resolved by arithmetic on its elements.
ir::Result<Dims> resolved_at_run_time(NodeContext& c, const Dims& from, bool zero_is_zero) {
  Chain m(c);
  const DType wide = DType::Int(64);
  const Expr* given = m.cast(m.in(1), wide);
  const std::int64_t count = m.size(given, 0);
  if (!m.good() || count > kMostKnown) return c.must_be_known(1);
  const auto vector = [&](Dims dims) { return m.good() ? m.take(c.tensor_from({wide, 1, std::move(dims)})) : nullptr; };
  if (!zero_is_zero) {
    Dims old = from;
    old.resize(std::size_t(count), c.i64(0));
    given = m.where(m.each(op::Equal, given, m.lit(wide, 0)), vector(old), given);
  }
  const Expr* open = m.each(op::Equal, given, m.lit(wide, -1));
  const Expr* others = m.reduce(op::Prod, m.where(open, m.lit(wide, 1), given), {0}, false);
  const Expr* all = m.reshape(vector({ir::product(c.ctx, from)}), {});
  const Expr* rest = m.each(op::FloorDivide, all, m.max(others, m.lit(wide, 1)));
  RLDB_TRY(const Expr* made, m.done(m.where(open, rest, given)));
  return c.dims_of_values(made, std::size_t(count));
}

}  // namespace

namespace {

// Numbers of elements that no proof compares are compared when the program runs: a reshape itself would leave some out,
// or repeat them.
Made reshaped(NodeContext& c, const Expr* x, const Dims& from, const Dims& to) {
  const Expr *given = ir::product(c.ctx, from), *asked = ir::product(c.ctx, to);
  const bool both_known = int_of(given) && int_of(asked);
  if (both_known || c.same_dim(given, asked)) return c.reshape(x, to);
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
  RLDB_TRY(const Expr* flat, c.reshape(x, {given}));
  return c.reshape(c.blocks.emit_match_cast(flat, c.ctx.tensor(Dims{asked}, t->dtype)), to);
}

bool reshape_known(NodeContext& c, const Dims& to) {
  const auto k = c.known(0);
  if (!k) return false;
  if (to.size() > 1) {
    Dims from;
    for (const std::int64_t n : shape_of(*k)) from.push_back(c.i64(n));
    const auto dims = resolved(c, from, to, c.integer(key::Allowzero, 0) != 0);
    return dims.ok() && fold_reshape(c, *dims);
  }
  const auto count = std::int64_t(k->items.size());
  if (to.empty() ? count != 1 : !ir::is_const(to[0], -1) && int_of(to[0]) != count) return false;
  c.know({k->dtype, int(to.size()), k->items});
  return true;
}

}  // namespace

Made reshape(NodeContext& c) {
  Dims to;
  if (c.has(1) && !c.known(1) && !c.decides(1)) {
    RLDB_TRY(const Dims from, c.dims(0));
    RLDB_TRY(to, resolved_at_run_time(c, from, c.integer(key::Allowzero, 0) != 0));
    RLDB_TRY(const Expr* x, c.in(0));
    return reshaped(c, x, from, to);
  }
  if (c.has(1)) {
    RLDB_TRY(to, c.dims_in(1));
  } else {
    for (const std::int64_t d : c.ints(key::Shape).value_or(Ints())) to.push_back(c.i64(d));
  }
  if (reshape_known(c, to)) return nullptr;
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims from, c.dims_of(x));
  RLDB_TRY(const Dims dims, resolved(c, from, to, c.integer(key::Allowzero, 0) != 0));
  const bool empty = std::any_of(dims.begin(), dims.end(), [](const Expr* d) { return ir::is_const(d, 0); });
  if (!empty) return reshaped(c, x, from, dims);
  // Relax would take 0 for the dim of the operand.
  Chain m(c);
  return m.done(m.full(dims, m.dtype(x), 0));
}

Made flatten(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  const auto n = std::int64_t(dims.size());
  std::int64_t axis = c.integer(key::Axis, 1);
  if (axis < 0) axis += n;
  if (axis < 0 || axis > n) return refuse(fmt::format("there is no axis {} in a tensor of rank {}", axis, n));
  const Dims before(dims.begin(), dims.begin() + axis), after(dims.begin() + axis, dims.end());
  return c.reshape(x, {ir::product(c.ctx, before), ir::product(c.ctx, after)});
}

namespace {

ir::Result<Ints> sorted_axes(NodeContext& c, const Ints& axes, std::size_t rank) {
  Ints made;
  for (const std::int64_t a : axes) {
    RLDB_TRY(const std::size_t at, c.axis(a, rank));
    made.push_back(std::int64_t(at));
  }
  std::sort(made.begin(), made.end());
  if (std::adjacent_find(made.begin(), made.end()) != made.end()) return refuse("an axis is given twice");
  return made;
}

}  // namespace

Made squeeze(NodeContext& c) {
  RLDB_TRY(const auto given, c.ints_of(key::Axes, 1));
  if (const auto k = c.known(0); k && k->rank <= 1 && k->items.size() == 1) return c.know({k->dtype, 0, k->items});
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  Dims kept;
  RLDB_TRY(const Ints axes, sorted_axes(c, given.value_or(Ints()), dims.size()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool gone = given ? std::binary_search(axes.begin(), axes.end(), std::int64_t(i)) : ir::is_const(dims[i], 1);
    if (!gone)
      kept.push_back(dims[i]);
    else if (int_of(dims[i]).value_or(1) != 1)
      return refuse(fmt::format("dim {} is not 1", i));
  }
  return c.reshape(x, kept);
}

Made unsqueeze(NodeContext& c) {
  RLDB_TRY(const auto given, c.ints_of(key::Axes, 1));
  if (!given) return refuse("its axes are missing");
  if (const auto k = c.known(0); k && k->rank == 0 && given->size() == 1) return c.know({k->dtype, 1, k->items});
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  RLDB_TRY(const Ints axes, sorted_axes(c, *given, dims.size() + given->size()));
  return c.expand(x, axes);
}

Made transpose(NodeContext& c) {
  const Ints given = c.ints(key::Perm).value_or(Ints());
  const auto axes_of = [&](std::size_t rank) {
    Ints axes = given;
    if (axes.empty()) axes = iota(0, std::int64_t(rank));
    if (given.empty()) std::reverse(axes.begin(), axes.end());
    return axes;
  };
  if (const auto k = c.known(0); k && fold_transpose(c, axes_of(std::size_t(k->rank)))) return nullptr;
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  return c.permute(x, axes_of(dims.size()));
}

// Both broadcast: a dim of the operand may be larger than that of the shape.
Made expand(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims from, c.dims_of(x));
  RLDB_TRY(Dims to, c.shape_in(1));
  while (to.size() < from.size()) to.insert(to.begin(), c.i64(1));
  const std::size_t skipped = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Expr*& d = to[skipped + i];
    if (ir::is_const(d, 1)) d = from[i];
    // Where it is known at run time only, it may be 1.
    if (!int_of(d) && !ir::is_const(from[i], 1) && !c.same_dim(d, from[i]))
      d = int_of(from[i]) ? from[i] : ir::max(c.ctx, from[i], d);
  }
  return c.broadcast_to(x, to);
}

Made concat(NodeContext& c) {
  Known known{DType::Int(64), 1, {}};
  bool all_known = true;
  for (std::size_t i = 0; all_known && i < c.count(); ++i) {
    const auto k = c.known_beside_sizes(i);
    all_known = k && k->rank == 1 && known.items.size() + k->items.size() <= std::size_t(kMostKnown);
    if (!all_known) break;
    known.dtype = k->dtype;
    known.items.insert(known.items.end(), k->items.begin(), k->items.end());
  }
  if (all_known) {
    for (std::size_t i = 0; i < c.count(); ++i) c.note_read(i);
    return c.know(std::move(known));
  }
  RLDB_TRY(Exprs all, c.all());
  if (all.empty()) return refuse("it has no operand");
  RLDB_TRY(const ir::TensorType* first, c.tensor_of(all[0]));
  if (all.size() == 1 || !first->has_shape) return c.joined(all, c.integer(key::Axis, 1));
  const Dims dims(first->shape.begin(), first->shape.end());
  RLDB_TRY(const std::size_t axis, c.axis(c.integer(key::Axis, 1), dims.size()));
  // Dims that no proof shows to be equal are checked when the program runs.
  for (const Expr*& x : all)
    for (std::size_t k = 0; k < dims.size(); ++k)
      if (k != axis) x = c.with_dim(x, k, dims[k]);
  return c.joined(all, c.integer(key::Axis, 1));
}

namespace {

// Of a vector that is known, into pieces of these sizes.
const Expr* split_known(NodeContext& c, const Known& x, const Ints& sizes) {
  std::size_t at = 0;
  for (const std::int64_t size : sizes) {
    const auto begin = x.items.begin() + std::ptrdiff_t(at);
    c.results.push_back({nullptr, std::make_shared<const Known>(Known{x.dtype, 1, Exprs(begin, begin + size)})});
    at += std::size_t(size);
  }
  return nullptr;
}

// Of the same size each.
ir::Result<Dims> equal_sizes(NodeContext& c, const Expr* extent, std::size_t axis, std::int64_t parts) {
  if (const auto n = int_of(extent); n && *n % parts != 0)
    return refuse(fmt::format("axis {} has {} elements, which are not {} equal pieces", axis, *n, parts));
  return Dims(std::size_t(parts), ir::floor_div(c.ctx, extent, c.i64(parts)));
}

// From opset 18: of the same size each but for the last one, which may be smaller. That there is something left for it
// is checked when the program runs, if no number shows it: 5 elements are not 4 pieces of 2.
ir::Result<Dims> counted_sizes(NodeContext& c, const Expr* extent, std::size_t axis, std::int64_t parts) {
  const Expr* each = ir::floor_div(c.ctx, ir::add(c.ctx, extent, c.i64(parts - 1)), c.i64(parts));
  const Expr* before = ir::mul(c.ctx, each, c.i64(parts - 1));
  const auto n = int_of(extent), full = int_of(before);
  if (n && full && *full > *n)
    return refuse(fmt::format("axis {} has {} elements, which are not {} pieces of {} and a smaller one", axis, *n,
                              parts - 1, *int_of(each)));
  if (!n && parts > 2)
    c.blocks.emit_match_cast(c.ctx.shape(Dims{ir::min(c.ctx, ir::sub(c.ctx, extent, before), c.i64(0))}),
                             c.ctx.shape_type(Dims{c.i64(0)}));
  Dims sizes(std::size_t(parts), each);
  sizes.back() = ir::sub(c.ctx, extent, before);
  return sizes;
}

// Into pieces whose sizes are not numbers; that they are all of the axis is checked when the program runs, if no proof
// shows it.
ir::Result<Exprs> pieces_of(NodeContext& c, const Expr* x, Dims dims, const Dims& sizes, std::size_t axis) {
  const Expr* end = c.i64(0);
  Dims ends;
  for (const Expr* size : sizes) ends.push_back(end = ir::add(c.ctx, end, size));
  if (!c.same_dim(end, dims[axis])) {
    RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
    dims[axis] = end;
    x = c.blocks.emit_match_cast(x, c.ctx.tensor(dims, t->dtype));
  }
  Exprs made;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    RLDB_TRY(const Expr* piece, c.sliced(x, axis, i == 0 ? c.i64(0) : ends[i - 1], ends[i]));
    made.push_back(piece);
  }
  return made;
}

// Sizes are an operand in version 1 and from 13 on, an attribute up to 11; their number is one from 18 on.
ir::Result<Dims> split_sizes(NodeContext& c, const Expr* extent, std::size_t axis) {
  const auto parts = std::int64_t(c.outputs());
  const Ints listed = c.ints(key::Split).value_or(Ints());
  if (parts == 0) return refuse("it has no outputs");
  Dims sizes;
  if (c.has(1)) {
    RLDB_TRY(sizes, c.shape_in(1));
  }
  if (!c.has(1))
    for (const std::int64_t n : listed) sizes.push_back(c.i64(n));
  const bool has_sizes = c.has(1) || !listed.empty(), is_counted = c.opset >= 18 && c.attr(key::NumOutputs);
  if (has_sizes && is_counted) return refuse("it has both the sizes of its pieces and their number (`num_outputs`)");
  if (has_sizes && sizes.size() != std::size_t(parts))
    return refuse(fmt::format("it has {} and {}", support::counted(sizes.size(), "size"),
                              support::counted(std::size_t(parts), "output")));
  if (has_sizes) return sizes;
  if (c.opset < 18) return equal_sizes(c, extent, axis, parts);
  if (!is_counted) return refuse("it has neither the sizes of its pieces nor their number (`num_outputs`)");
  if (const std::int64_t count = c.integer(key::NumOutputs, 0); count != parts)
    return refuse(
        fmt::format("its `num_outputs` is {}, and it has {}", count, support::counted(std::size_t(parts), "output")));
  return counted_sizes(c, extent, axis, parts);
}

}  // namespace

Made split(NodeContext& c) {
  const auto known = c.known(0);
  const bool is_vector = known && known->rank == 1;
  Dims dims;
  if (is_vector) {
    dims = {c.i64(std::int64_t(known->items.size()))};
  } else {
    RLDB_TRY(dims, c.dims(0));
  }
  RLDB_TRY(const std::size_t axis, c.axis(c.integer(key::Axis, 0), dims.size()));
  RLDB_TRY(const Dims sizes, split_sizes(c, dims[axis], axis));
  Ints numbers, ends;
  std::int64_t end = 0;
  constexpr std::int64_t kMostElements = std::int64_t(1) << 40;  // their sum does not overflow
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto n = int_of(sizes[i]);
    if (n && (*n < 0 || *n > kMostElements)) return refuse(fmt::format("piece {} has {} elements", i, *n));
    if (n) numbers.push_back(*n);
    if (n) ends.push_back(end += *n);
  }
  if (ends.size() != sizes.size()) {
    RLDB_TRY(const Expr* x, c.in(0));
    RLDB_TRY(const Exprs made, pieces_of(c, x, dims, sizes, axis));
    return static_cast<const Expr*>(c.ctx.tuple(made));
  }
  if (int_of(dims[axis]).value_or(end) != end)
    return refuse(
        fmt::format("its pieces have {} elements along axis {}, which has {}", end, axis, *int_of(dims[axis])));
  if (is_vector) return split_known(c, *known, numbers);
  RLDB_TRY(const Expr* x, c.in(0));
  x = c.with_dim(x, axis, c.i64(end));
  ends.pop_back();
  RLDB_TRY(const Exprs pieces, c.pieces(x, ends, std::int64_t(axis)));
  return static_cast<const Expr*>(c.ctx.tuple(pieces));
}

namespace {

// Of the first version: how often, and along which axis.
Made tile_axis(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  RLDB_TRY(const Ints times, c.ints_in(1));
  RLDB_TRY(const Ints given, c.ints_in(2));
  if (times.size() != 1 || given.size() != 1) return refuse("its repeats or its axis are not one number");
  RLDB_TRY(const std::size_t axis, c.axis(given[0], dims.size()));
  Ints repeats(dims.size(), 1);
  repeats[axis] = times[0];
  return c.emit(op::Tile, {x}, {{op_attr::Repeats, c.ints_attr(repeats)}});
}

}  // namespace

Made tile(NodeContext& c) {
  if (c.opset < 6) return tile_axis(c);
  RLDB_TRY(const Expr* x, c.in(0));
  if (c.decides(1)) {
    RLDB_TRY(const Ints repeats, c.ints_in(1));
    return c.emit(op::Tile, {x}, {{op_attr::Repeats, c.ints_attr(repeats)}});
  }
  // Relax's operator takes numbers: (a, b) repeated (n, m) times is (1, a, 1, b) broadcast to (n, a, m, b).
  RLDB_TRY(const Dims repeats, c.shape_in(1));
  RLDB_TRY(const Dims dims, c.dims_of(x));
  if (repeats.size() != dims.size()) return refuse("its repeats are not one for each axis");
  Dims apart, wide, to;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    apart.insert(apart.end(), {c.i64(1), dims[k]});
    wide.insert(wide.end(), {repeats[k], dims[k]});
    to.push_back(ir::mul(c.ctx, repeats[k], dims[k]));
  }
  RLDB_TRY(x, c.reshape(x, apart));
  RLDB_TRY(x, c.broadcast_to(x, wide));
  return c.reshape(x, to);
}

// ---- creation ----

Made constant(NodeContext& c) {
  for (const auto& a : c.node.attribute()) {
    if (!c.attr(a.name())) return refuse("its value is not given by the call of its function");
    if (a.name() == key::Value) {
      const auto* tensor = c.tensor(key::Value);
      if (!tensor) return refuse("its value is not a tensor");
      RLDB_TRY(const runtime::Value made, tensor_value(*tensor, std::string(c.folder)));
      return static_cast<const Expr*>(c.ctx.constant(made));
    }
    const auto as_float = [&](double v) { return static_cast<const Expr*>(c.ctx.float_imm(DType::Float(64), v)); };
    Exprs items;
    if (a.name() == key::ValueFloat)
      return c.tensor_from({DType::Float(32), 0, {as_float(c.real(key::ValueFloat, 0))}});
    if (a.name() == key::ValueInt) return c.tensor_from({DType::Int(64), 0, {c.i64(c.integer(key::ValueInt, 0))}});
    if (a.name() == key::ValueFloats) {
      for (const double v : c.reals(key::ValueFloats)) items.push_back(as_float(v));
      return c.tensor_from({DType::Float(32), 1, items});
    }
    if (a.name() == key::ValueInts) {
      for (const std::int64_t v : c.ints(key::ValueInts).value_or(Ints())) items.push_back(c.i64(v));
      return c.tensor_from({DType::Int(64), 1, items});
    }
    return refuse(fmt::format("its value is a `{}`", a.name()));
  }
  return refuse("it has no value");
}

Made constant_of_shape(NodeContext& c) {
  RLDB_TRY(const Dims dims, c.shape_in(0));
  const Expr* value = c.scalar(DType::Float(32), 0);
  if (const auto* given = c.tensor(key::Value)) {
    RLDB_TRY(const runtime::Value made, tensor_value(*given, std::string(c.folder)));
    RLDB_TRY(value, c.reshape(c.ctx.constant(made), {}));
    if (made.as_tensor().element_count() != 1) return refuse("its value is not one number");
    auto scalar =
        runtime::Tensor::view(made.as_tensor().storage(), made.as_tensor().byte_offset(), {}, made.as_tensor().dtype());
    if (!scalar.ok()) return refuse(scalar.error().message);
    value = c.ctx.constant(runtime::Value(*scalar));
  }
  const DType dtype = ir::as<ir::TensorType>(value->type)->dtype;
  const auto n = dims.size() == 1 ? int_of(dims[0]) : std::nullopt;
  if (const auto k = NodeContext::known_of(c.ctx, {value, nullptr}); k && n && *n >= 0 && *n <= 64)
    return c.know({dtype, 1, Exprs(std::size_t(*n), k->items[0])});
  return c.emit(op::Full, {c.ctx.shape(dims), value}, {{op_attr::Dtype, c.ctx.attr(dtype)}});
}

Made eye_like(NodeContext& c) {
  RLDB_TRY(const Expr* x, c.in(0));
  RLDB_TRY(const ir::TensorType* t, c.tensor_of(x));
  const auto dtype = c.attr(key::Dtype) ? dtype_of(std::int32_t(c.integer(key::Dtype, 0))) : std::optional(t->dtype);
  if (!dtype) return refuse("its dtype is not one of Relax's");
  return c.emit(op::EyeLike, {x, c.i64(c.integer(key::K, 0))}, {{op_attr::Dtype, c.ctx.attr(*dtype)}});
}

namespace {

// As many steps as there is room for: their number becomes a dim.
Made range_at_run_time(NodeContext& c) {
  Chain m(c);
  const Expr *start = m.in(0), *limit = m.in(1), *delta = m.in(2);
  const DType t = m.dtype(start), wide = t.is_float() ? t : DType::Float(64);
  const auto scalar = [&](const Expr* e) { return m.reshape(e, {}); };
  const Expr* steps = m.div(m.cast(scalar(m.sub(limit, start)), wide), m.cast(scalar(delta), wide));
  const Expr* count = m.max(m.unary(op::Ceil, steps), m.lit(wide, 0));
  RLDB_TRY(const Expr* one, m.done(m.expand(m.cast(count, DType::Int(64)), {0})));
  RLDB_TRY(const Dims dims, c.dims_of_values(one, 1));
  const Expr* places = m.cast(m.positions(dims[0], 0, 1), t);
  return m.done(m.add(m.mul(places, scalar(delta)), scalar(start)));
}

}  // namespace

Made range(NodeContext& c) {
  const auto start = c.known(0), limit = c.known(1), delta = c.known(2);
  if (!start || !limit || !delta) return range_at_run_time(c);
  for (const auto& k : {start, limit, delta})
    for (const Expr* e : k->items)
      if (!int_of(e) && !ir::isa<ir::FloatImm>(e)) return range_at_run_time(c);
  RLDB_TRY(const double a, c.real_in(0, 0));
  RLDB_TRY(const double b, c.real_in(1, 0));
  RLDB_TRY(const double d, c.real_in(2, 1));
  const DType t = start->dtype;
  if (d == 0) return refuse("its step is 0");
  return c.emit(op::Arange, {c.ctx.literal(t, a), c.ctx.literal(t, b), c.ctx.literal(t, d)},
                {{op_attr::Dtype, c.ctx.attr(t)}});
}

namespace {

constexpr std::string_view kNoDiagonal = "its diagonal is not one number";

// The diagonal is known at run time only.
Made triangle_at_run_time(NodeContext& c, std::string_view kept_where) {
  Chain m(c);
  const Expr* x = m.in(0);
  const Dims dims = m.dims(x);
  if (!m.good()) return m.done(nullptr);
  if (dims.size() < 2) return refuse("its data is not a matrix");
  const Expr *rows = m.positions(dims[dims.size() - 2], 0, 2), *columns = m.positions(dims.back(), 1, 2);
  const Expr* diagonal = m.in(1);
  const Dims sizes = m.dims(diagonal);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (int_of(sizes[i]).value_or(1) != 1) return refuse(std::string(kNoDiagonal));
    diagonal = c.with_dim(diagonal, i, c.i64(1));
  }
  diagonal = m.reshape(diagonal, {});
  return m.done(m.where(m.each(kept_where, m.sub(columns, rows), diagonal), x, m.lit(x, 0)));
}

}  // namespace

Made triangle(NodeContext& c) {
  const bool upper = c.integer(key::Upper, 1) != 0;
  if (c.has(1)) {
    RLDB_TRY(const ir::TensorType* k, c.type(1));
    if (k->dtype != DType::Int(64))
      return refuse(fmt::format("its diagonal is of {}, but must be of int64", runtime::to_string(k->dtype)));
  }
  if (c.has(1) && !c.is_literal(1)) return triangle_at_run_time(c, upper ? op::GreaterEqual : op::LessEqual);
  RLDB_TRY(const Expr* x, c.in(0));
  std::int64_t k = 0;
  if (c.has(1)) {
    RLDB_TRY(const Ints given, c.ints_in(1));
    if (given.size() != 1) return refuse(std::string(kNoDiagonal));
    k = given[0];
  }
  return c.emit(upper ? op::Triu : op::Tril, {x, c.i64(k)});
}

}  // namespace rldb::onnx::bodies
