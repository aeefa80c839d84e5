// Legalisation of slice_scatter: the elements of a slice are replaced.
#include "ops/legal/util.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op_attr/axis_attr.h"

namespace rldb::ops::legal {

namespace {

// A slice whose bounds and step are numbers, none of them negative, of an axis with a known extent.
struct LiteralSlice {
  std::int64_t start, end, step, extent;
  bool whole() const { return start == 0 && end == extent && step == 1; }
};

std::optional<LiteralSlice> literal_slice(const ir::Call* c, const Expr* extent) {
  const auto start = ir::const_int(c->args[2]);
  const auto end = ir::const_int(c->args[3]);
  const auto step = ir::const_int(c->args[4]);
  const auto length = ir::const_int(extent);
  if (!start || !end || !step || !length || *start < 0 || *end < 0 || *step < 1 || *length < 1) return std::nullopt;
  return LiteralSlice{*start, *end, *step, *length};
}

const Expr* both_hold(Topi& t, const Expr* a, const Expr* b) { return ir::logical_and(t.ctx, a, b); }
const Expr* at_least(Topi& t, const Expr* a, const Expr* b) { return t.le(b, a); }
const Expr* below(Topi& t, const Expr* a, const Expr* b) { return t.lt(a, b); }
const Expr* same(Topi& t, const Expr* a, const Expr* b) { return t.eq(a, b); }
const Expr* difference(Topi& t, const Expr* a, const Expr* b) { return ir::sub(t.ctx, a, b); }
const Expr* total(Topi& t, const Expr* a, const Expr* b) { return ir::add(t.ctx, a, b); }
const Expr* quotient(Topi& t, const Expr* a, const Expr* b) { return ir::floor_div(t.ctx, a, b); }
const Expr* remainder(Topi& t, const Expr* a, const Expr* b) { return ir::floor_mod(t.ctx, a, b); }

// Whether each position of the axis is in the slice: a stage for each condition.
Tensor slice_mask(Topi& t, const LiteralSlice& s, Tensor position) {
  Tensor mask = t.full({t.i64(s.extent)}, t.ctx.bool_imm(true));
  const auto require = [&](Tensor condition) { mask = t.binary(short_op::LogicalAnd, both_hold, mask, condition); };
  if (s.start != 0) require(t.binary(short_op::GreaterEqual, at_least, position, t.i64(s.start)));
  if (s.end != s.extent) require(t.binary(short_op::Less, below, position, t.i64(s.end)));
  if (s.step != 1) {
    const Tensor offset = t.binary(short_op::Subtract, difference, position, t.i64(s.start));
    const Tensor rest = t.binary(short_op::FloorMod, remainder, offset, t.i64(s.step));
    require(t.binary(short_op::Equal, same, rest, t.i64(0)));
  }
  return mask;
}

// For each position of the axis, the position in the source that replaces it.
Tensor source_position(Topi& t, const LiteralSlice& s, Tensor position) {
  const Tensor offset = t.binary(short_op::Subtract, difference, position, t.i64(s.start));
  const Tensor rounded = t.binary(short_op::Add, total, offset, t.i64(s.step - 1));
  const Tensor index = t.binary(short_op::FloorDivide, quotient, rounded, t.i64(s.step));
  return t.map(index, [&](const Expr* e) -> const Expr* {
    return t.ctx.binary(ir::BinaryKind::Max, t.ctx.binary(ir::BinaryKind::Min, e, t.i64(s.extent - 1)), t.i64(0));
  });
}

Tensor by_mask(Topi& t, const LiteralSlice& s, std::size_t axis, Tensor in, Tensor source) {
  const ExprList shape = topi::shape_list(in);
  if (s.whole())
    return t.map(
        source, [](const Expr* e) { return e; }, "T_identity");
  const Tensor position = t.g.compute(
      ExprList{shape[axis]}, [](Indices i) { return i[0]; }, "T_arange");
  ExprList wide(shape.size(), t.i64(1));
  wide[axis] = shape[axis];
  const Tensor mask = t.reshape(slice_mask(t, s, position), wide);
  const Tensor from = source_position(t, s, position);
  const Expr* last = ir::sub(t.ctx, source->shape[axis], t.i64(1));
  const Tensor taken = t.g.compute(
      shape,
      [&](Indices i) {
        ExprList at = topi::vars(i);
        at[axis] = ir::min(t.ctx, ir::max(t.ctx, t.i64(0), t.g.load(from, {i[axis]})), last);
        return t.g.load(source, std::span<const Expr* const>(at));
      },
      "T_take");
  const Tensor everywhere = t.g.compute(
      shape, [&](Indices i) { return t.at(mask, topi::vars(i), shape); }, "T_broadcast_to");
  return t.g.compute(
      shape, [&](Indices i) { return t.where(t.g.load(everywhere, i), t.g.load(taken, i), t.g.load(in, i)); },
      "T_where");
}

// Bounds that are not known: the source says how long the slice is.
Tensor by_length(Topi& t, const Expr* start, const Expr* step, std::size_t axis, Tensor in, Tensor source) {
  return t.g.compute(
      in->shape,
      [&](Indices i) {
        const Expr* offset = ir::sub(t.ctx, i[axis], start);
        ExprList at = topi::vars(i);
        at[axis] = ir::floor_div(t.ctx, offset, step);
        ExprList conditions{t.le(start, i[axis]), t.lt(at[axis], source->shape[axis])};
        if (!is_one(step)) conditions.push_back(t.eq(ir::floor_mod(t.ctx, offset, step), t.i64(0)));
        return t.if_else(t.all(conditions), t.g.load(source, std::span<const Expr* const>(at)), t.g.load(in, i));
      },
      short_op::SliceScatter);
}

}  // namespace

Result<const Expr*> slice_scatter(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  const std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  return l.call_te(short_op::SliceScatter, c->args.first(2), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    const Expr* extent = te.in[0]->shape[axis];
    if (const auto s = literal_slice(c, extent)) return {by_mask(t, *s, axis, te.in[0], te.in[1])};
    const Expr* start = slice_begin(te.ctx, te.map(c->args[2]), t.i64(1), extent, false);
    return {by_length(t, start, te.map(c->args[4]), axis, te.in[0], te.in[1])};
  });
}

}  // namespace rldb::ops::legal
