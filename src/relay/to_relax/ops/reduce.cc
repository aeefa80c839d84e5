// Reductions.
#include <algorithm>

#include "relay/to_relax/translations.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/manipulation.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

// The axes that are reduced: all without `axis`, the others with `exclude`.
ir::Result<Ints> reduced_axes(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const auto rank = std::size_t(t->ndim);
  const auto given = o.ints(relay::field::Axis);
  if (!given) return iota(0, t->ndim);
  std::vector<bool> reduced(rank);
  for (const std::int64_t axis : *given) {
    RLDB_TRY(const std::size_t at, o.axis(axis, rank));
    reduced[at] = true;
  }
  if (o.flag(relay::field::Exclude)) reduced.flip();
  Ints axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (reduced[i]) axes.push_back(std::int64_t(i));
  return axes;
}

Made reduced(OpCall& o, std::string_view target, const Expr* x, const Ints& axes) {
  if (axes.empty()) return x;
  return o.call(target, {x},
                {{op_attr::Axis, o.ints_attr(axes)}, {op_attr::Keepdims, o.ctx.attr(o.flag(relay::field::Keepdims))}});
}

}  // namespace

Made reduce(OpCall& o) {
  RLDB_TRY(const Ints axes, reduced_axes(o));
  return reduced(o, o.target, o.arg(0), axes);
}

// `all` is the minimum of truth values, `any` the maximum.
Made reduce_bools(OpCall& o) {
  RLDB_TRY(const Ints axes, reduced_axes(o));
  RLDB_TRY(const Expr* numbers, o.cast(o.arg(0), DType::Int(32)));
  RLDB_TRY(const Expr* made, reduced(o, o.target, numbers, axes));
  return o.cast(o.bind(made), DType::Bool());
}

// Relax's operators take one axis, and return int64: several axes are merged into one.
Made argreduce(OpCall& o) {
  RLDB_TRY(const Ints axes, reduced_axes(o));
  RLDB_TRY(const Dims dims, o.dims(0));
  const std::int64_t rank = std::int64_t(dims.size());
  Ints kept;
  for (std::int64_t i = 0; i < rank; ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  Ints last = kept;
  last.insert(last.end(), axes.begin(), axes.end());
  Dims flat, made, reduced;
  for (const std::int64_t i : kept) flat.push_back(dims[std::size_t(i)]);
  for (const std::int64_t i : axes) reduced.push_back(dims[std::size_t(i)]);
  const Expr* count = ir::product(o.ctx, reduced);
  flat.push_back(count);
  for (std::int64_t i = 0; i < rank; ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone)
      made.push_back(dims[std::size_t(i)]);
    else if (o.flag(relay::field::Keepdims))
      made.push_back(o.i64(1));
  }
  RLDB_TRY(const Expr* moved, o.permute(o.arg(0), last));
  RLDB_TRY(const Expr* one_axis, o.reshape(moved, flat));
  const auto axis = std::int64_t(kept.size());
  const bool from_end = o.flag(relay::field::SelectLastIndex);
  if (from_end) {
    RLDB_TRY(one_axis, o.emit(op::Flip, {one_axis}, {{op_attr::Axis, o.ctx.attr(axis)}}));
  }
  RLDB_TRY(const Expr* index, o.emit(o.target, {one_axis}, {{op_attr::Axis, o.ctx.attr(axis)}}));
  if (from_end) {
    const auto n = int_of(count);
    if (!n) return refuse("the number of elements is not known");
    RLDB_TRY(index, o.emit(op::Subtract, {o.scalar(DType::Int(64), double(*n - 1)), index}));
  }
  RLDB_TRY(const Expr* shaped, o.reshape(index, made));
  const auto* type = relay::as<relay::TensorType>(o.result);
  return o.cast(shaped, type ? type->dtype : DType::Int(32));
}

// The mean of squared differences from the given mean.
Made variance(OpCall& o) {
  RLDB_TRY(const Ints axes, reduced_axes(o));
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* centred, o.broadcast(op::Subtract, o.args));
  centred = o.bind(centred);
  RLDB_TRY(const Expr* square, o.emit(op::Multiply, {centred, centred}));
  if (!o.flag(relay::field::Unbiased)) return reduced(o, op::Mean, square, axes);
  std::int64_t count = 1;
  for (const std::int64_t i : axes) {
    const auto n = int_of(t->shape[std::size_t(i)]);
    if (!n) return refuse("the number of elements is not known");
    count *= *n;
  }
  RLDB_TRY(const Expr* sum, reduced(o, op::Sum, square, axes));
  return o.call(op::Divide, {o.bind(sum), o.scalar(t->dtype, double(count - 1))});
}

}  // namespace rldb::to_relax::translations
