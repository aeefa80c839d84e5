// Operators whose parameters are operands (`dyn.*`), shapes as values, devices. A constant parameter becomes the static
// operator's attribute.
#include <algorithm>
#include <cmath>

#include "relay/to_relax/translations.h"
#include "rldb/bytecode/builtin/relay.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::to_relax::translations {

Made reshape_to(OpCall& o, Ints codes, bool from_right);
Made squeeze_axes(OpCall& o, const std::optional<Ints>& axes);
Made expand_dims_at(OpCall& o, std::int64_t axis, std::int64_t count);
Made strided_slice_by(OpCall& o, const Ints& begin, const Ints& end, const Ints& strides);
Made one_hot_of(OpCall& o, const Expr* depth, bool literal);

Made shape_of(OpCall& o) {
  RLDB_TRY(const Expr* shape, o.emit(op::ShapeOf, {o.arg(0)}));
  RLDB_TRY(const Expr* values, o.emit(op::ShapeToTensor, {shape}));
  const bool of_machine = o.op.id == relay::op::VmShapeOf;
  return o.cast(values, o.dtype(relay::field::Dtype).value_or(DType::Int(of_machine ? 64 : 32)));
}

Made ndarray_size(OpCall& o) {
  RLDB_TRY(const Expr* size, o.emit(op::Size, {o.arg(0)}));
  return o.cast(size, o.dtype(relay::field::Dtype).value_or(DType::Int(32)));
}

namespace {

// The number of elements in the operand of rank 1.
ir::Result<std::size_t> length(OpCall& o, std::size_t i) {
  RLDB_TRY(const Dims dims, o.dims(i));
  const auto n = dims.size() == 1 ? int_of(dims[0]) : std::nullopt;
  if (!n || *n > 64) return refuse("the rank of its result is not known");
  return std::size_t(*n);
}

// The operand as the dims of a shape.
ir::Result<Dims> dims_from(OpCall& o, std::size_t i) {
  if (const auto literal = o.constant_ints(i)) {
    Dims dims;
    for (const std::int64_t d : *literal) dims.push_back(o.i64(d));
    return dims;
  }
  RLDB_TRY(const std::size_t count, length(o, i));
  return o.dims_of_values(o.arg(i), count);
}

}  // namespace

// -1 and 0 have the same meaning as in an attribute.
Made dyn_reshape(OpCall& o) {
  if (const auto codes = o.constant_ints(1)) return reshape_to(o, *codes, false);
  RLDB_TRY(const std::size_t rank, length(o, 1));
  RLDB_TRY(const Dims from, o.dims(0));
  RLDB_TRY(const Expr* wide, o.cast(o.arg(1), DType::Int(64)));
  const Expr* shape = o.packed(builtin::ReshapedShape, {o.ctx.shape(from), wide}, o.ctx.shape_type_ndim(int(rank)));
  RLDB_TRY(const Dims dims, o.dims_of_shape(shape, rank));
  return o.call(op::Reshape, {o.arg(0), o.ctx.shape(dims)});
}

Made dyn_broadcast_to(OpCall& o) {
  if (o.constant_ints(1)) {
    RLDB_TRY(const Dims dims, dims_from(o, 1));
    return o.broadcast_to(o.arg(0), dims);
  }
  RLDB_TRY(const Dims wanted, dims_from(o, 1));
  RLDB_TRY(const Dims from, o.dims(0));
  // Checks that the two fit.
  const Expr* shape = o.packed(builtin::BroadcastShape, {o.ctx.shape(wanted), o.ctx.shape(from)},
                               o.ctx.shape_type_ndim(int(wanted.size())));
  o.blocks.emit_match_cast(shape, o.ctx.shape_type(wanted));
  return o.broadcast_to(o.arg(0), wanted);
}

Made dyn_full(OpCall& o) {
  RLDB_TRY(const ir::TensorType* value, o.tensor(0));
  RLDB_TRY(const Dims dims, dims_from(o, 1));
  return o.call(op::Full, {o.ctx.shape(dims), o.arg(0)},
                {{op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(value->dtype))}});
}

Made dyn_init(OpCall& o) {
  RLDB_TRY(const Dims dims, dims_from(o, 0));
  return o.call(o.target, {o.ctx.shape(dims)},
                {{op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(DType::Float(32)))}});
}

Made dyn_tile(OpCall& o) {
  if (const auto reps = o.constant_ints(1))
    return o.call(op::Tile, {o.arg(0)}, {{op_attr::Repeats, o.ints_attr(*reps)}});
  RLDB_TRY(Dims reps, dims_from(o, 1));
  RLDB_TRY(const Dims dims, o.dims(0));
  while (reps.size() < dims.size()) reps.insert(reps.begin(), o.i64(1));
  const std::size_t added = reps.size() - dims.size();
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_tile", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    Dims to;
    for (std::size_t k = 0; k < reps.size(); ++k)
      to.push_back(k < added ? te.map(reps[k]) : ir::mul(ctx, te.map(reps[k]), x->shape[k - added]));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at;
          for (std::size_t k = 0; k < x->shape.size(); ++k) at.push_back(ir::floor_mod(ctx, i[added + k], x->shape[k]));
          return te.graph.load(x, at);
        },
        "T_tile")};
  });
}

Made dyn_one_hot(OpCall& o) {
  if (const auto depth = o.constant_ints(3); depth && depth->size() == 1)
    return one_hot_of(o, o.i64((*depth)[0]), true);
  RLDB_TRY(const Expr* one, o.reshape(o.arg(3), {o.i64(1)}));
  RLDB_TRY(const Dims depth, o.dims_of_values(one, 1));
  return one_hot_of(o, depth[0], false);
}

Made dyn_strided_slice(OpCall& o) {
  const auto begin = o.constant_ints(1), end = o.constant_ints(2), strides = o.constant_ints(3);
  if (begin && end && strides) return strided_slice_by(o, *begin, *end, *strides);
  RLDB_TRY(const Dims dims, o.dims(0));
  for (std::size_t i = 1; i < 4; ++i) {
    RLDB_TRY(const std::size_t count, length(o, i));
    if (count != dims.size()) return refuse("its bounds do not name each axis");
  }
  Exprs bounds{o.arg(0)};
  for (std::size_t i = 1; i < 4; ++i) {
    RLDB_TRY(const Expr* wide, o.cast(o.arg(i), DType::Int(64)));
    bounds.push_back(wide);
  }
  if (o.string(relay::field::SliceMode) == "size") {
    RLDB_TRY(bounds[2], o.emit(op::Add, {bounds[1], bounds[2]}));
  }
  return o.call(op::DynamicStridedSlice, bounds);
}

Made dyn_squeeze(OpCall& o) {
  const auto axes = o.constant_ints(1);
  if (!axes) return refuse("the rank of its result is not known");
  return squeeze_axes(o, axes);
}

Made dyn_expand_dims(OpCall& o) {
  const auto axis = o.constant_ints(1);
  if (!axis || axis->size() != 1) return refuse("the place of the new axes is not known");
  const relay::AttrValue* count = o.attr(relay::field::NumNewaxis);
  return expand_dims_at(o, (*axis)[0], count ? count->integer : 1);
}

// Operands: the data, a pair of widths for each axis, the value.
Made dyn_pad(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const Expr* flat, o.reshape(o.arg(1), {o.i64(std::int64_t(2 * dims.size()))}));
  RLDB_TRY(const Dims widths, o.dims_of_values(flat, 2 * dims.size()));
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* fill, o.cast(o.arg(2), t->dtype));
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_pad", {o.arg(0), fill}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    Dims to, before;
    for (std::size_t k = 0; k < x->shape.size(); ++k) {
      before.push_back(te.map(widths[2 * k]));
      to.push_back(ir::add(ctx, ir::add(ctx, x->shape[k], before[k]), te.map(widths[2 * k + 1])));
    }
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at;
          const Expr* inside = ctx.bool_imm(true);
          for (std::size_t k = 0; k < x->shape.size(); ++k) {
            at.push_back(ir::sub(ctx, i[k], before[k]));
            inside = ir::logical_and(ctx, inside, ir::compare(ctx, ir::BinaryKind::GE, at[k], ctx.i64(0)));
            inside = ir::logical_and(ctx, inside, ir::compare(ctx, ir::BinaryKind::LT, at[k], x->shape[k]));
          }
          return static_cast<const Expr*>(ctx.intrin(
              x->dtype, ir::intrin::IfThenElse,
              {inside, te.graph.load(x, at), te.graph.load(te.in[1], std::initializer_list<const Expr*>{})}));
        },
        "T_pad")};
  });
}

// The two tensors have the same shape in memory.
Made reshape_tensor(OpCall& o) {
  RLDB_TRY(const Dims dims, dims_from(o, 1));
  return o.call(op::Reshape, {o.arg(0), o.ctx.shape(dims)});
}

// x * multiplier * 2^(shift - 31), rounded to the nearest, halves up.
Made fixed_point_multiply(OpCall& o) {
  const std::int64_t multiplier = o.integer(relay::field::Multiplier).value_or(0),
                     shift = o.integer(relay::field::Shift).value_or(0);
  const std::int64_t left = std::max<std::int64_t>(shift, 0), right = std::max<std::int64_t>(-shift, 0);
  if (left > 31 || right > 31) return refuse("its shift is larger than 31");
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_fixed_point_multiply", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          const Expr* wide = ir::cast_to(ctx, DType::Int(64), te.graph.load(x, i));
          wide = ir::mul(ctx, ir::mul(ctx, wide, ctx.i64(std::int64_t(1) << left)), ctx.i64(multiplier));
          const std::int64_t total = 31 + right;
          wide = ir::add(ctx, wide, ctx.i64(std::int64_t(1) << (total - 1)));
          const Expr* shifted = ctx.intrin(DType::Int(64), ir::intrin::ShiftRight, {wide, ctx.i64(total)});
          return ir::cast_to(ctx, x->dtype, shifted);
        },
        "T_fixed_point_multiply")};
  });
}

// The same with a multiplier and shifts for each position of some axes. Operands: x, multiplier, shifts left and right.
Made fixed_point_multiply_per_axis(OpCall& o) {
  const auto given = o.ints(relay::field::Axes);
  RLDB_TRY(const Dims dims, o.dims(0));
  const auto flag = [&](std::string_view name) {
    const relay::AttrValue* v = o.attr(name);
    return v && v->integer != 0;
  };
  const bool left = flag(relay::field::IsLshiftRequired), right = flag(relay::field::IsRshiftRequired);
  std::vector<std::size_t> axes;
  for (const std::int64_t a : given.value_or(Ints())) {
    RLDB_TRY(const std::size_t axis, o.axis(a, dims.size()));
    axes.push_back(axis);
  }
  for (std::size_t i = 1; i < 4; ++i) {
    RLDB_TRY(const ir::TensorType* t, o.tensor(i));
    if (std::size_t(t->ndim) != axes.size()) return refuse("its parameters are not of its axes");
  }
  ir::Context& ctx = o.ctx;
  return o.kernel("relay_fixed_point_multiply_per_axis", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    constexpr DType kWide = DType::Int(64);
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          Dims at;
          for (const std::size_t axis : axes) at.push_back(i[axis]);
          const auto parameter = [&](std::size_t k) { return ir::cast_to(ctx, kWide, te.graph.load(te.in[k], at)); };
          const auto shifted = [&](ir::Intrinsic how, const Expr* e, const Expr* by) {
            return static_cast<const Expr*>(ctx.intrin(kWide, how, {e, by}));
          };
          const Expr* wide = ir::cast_to(ctx, kWide, te.graph.load(x, i));
          if (left) wide = shifted(ir::intrin::ShiftLeft, wide, parameter(2));
          wide = ir::mul(ctx, wide, parameter(1));
          const Expr* total = right ? ir::add(ctx, parameter(3), ctx.i64(31)) : static_cast<const Expr*>(ctx.i64(31));
          const Expr* half = shifted(ir::intrin::ShiftLeft, ctx.i64(1), ir::sub(ctx, total, ctx.i64(1)));
          return ir::cast_to(ctx, x->dtype, shifted(ir::intrin::ShiftRight, ir::add(ctx, wide, half), total));
        },
        "T_fixed_point_multiply_per_axis")};
  });
}

}  // namespace rldb::to_relax::translations
