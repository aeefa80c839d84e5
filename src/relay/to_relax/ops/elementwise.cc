// Elementwise operators, and those that create tensors.
#include <cmath>

#include "relay/to_relax/translations.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op/function.h"
#include "rldb/ir/op/reshape.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

Made unary(OpCall& o) { return o.call(o.target, {o.arg(0)}); }
Made binary(OpCall& o) { return o.broadcast(o.target, o.args); }
Made identity(OpCall& o) { return o.arg(0); }

// For integers in double precision: there is no other `pow`.
Made power(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  if (t->dtype.is_float()) return o.broadcast(op::Power, o.args);
  Exprs wide;
  for (const Expr* x : o.args) {
    RLDB_TRY(const Expr* made, o.cast(x, DType::Float(64)));
    wide.push_back(made);
  }
  RLDB_TRY(const Expr* made, o.broadcast(op::Power, wide));
  return o.cast(o.bind(made), t->dtype);
}

// log2 and log10: the logarithm times a constant.
static Made scaled_log(OpCall& o, double factor) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* log, o.emit(op::Log, {o.arg(0)}));
  return o.call(op::Multiply, {log, o.scalar(t->dtype, factor)});
}
Made log2(OpCall& o) { return scaled_log(o, 1 / std::log(2.0)); }
Made log10(OpCall& o) { return scaled_log(o, 1 / std::log(10.0)); }

// Integer division already truncates.
Made trunc_divide(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  if (!t->dtype.is_float()) return o.broadcast(op::Divide, o.args);
  RLDB_TRY(const Expr* quotient, o.broadcast(op::Divide, o.args));
  return o.call(op::Trunc, {o.bind(quotient)});
}

Made cast(OpCall& o) {
  const auto dtype = o.dtype(relay::field::Dtype);
  if (!dtype) return refuse("its dtype is not known");
  return o.call(op::Astype, {o.arg(0)}, {{op_attr::Dtype, o.ctx.attr(*dtype)}});
}

Made cast_like(OpCall& o) {
  RLDB_TRY(const ir::TensorType* like, o.tensor(1));
  return o.call(op::Astype, {o.arg(0)}, {{op_attr::Dtype, o.ctx.attr(like->dtype)}});
}

Made reinterpret(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const auto dtype = o.dtype(relay::field::Dtype);
  if (!dtype || dtype->bits != t->dtype.bits) return refuse("the two dtypes have different sizes");
  return o.kernel("relay_reinterpret", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    return {te.graph.compute(
        te.in[0]->shape,
        [&](te::Indices i) { return o.ctx.intrin(*dtype, ir::intrin::Reinterpret, {te.graph.load(te.in[0], i)}); },
        "T_reinterpret")};
  });
}

Made full_like(OpCall& o) { return o.call(op::FullLike, o.args); }

static double bounded(DType t, double v) {
  if (t.is_float()) return v;
  if (std::isnan(v)) return 0;
  const double most = std::ldexp(1.0, t.bits - (t.is_uint() ? 0 : 1)) - 1;
  return std::clamp(v, t.is_uint() ? 0.0 : -most - 1, most);
}
Made clip(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  const Expr* low = o.ctx.literal(t->dtype, bounded(t->dtype, o.real(relay::field::AMin)));
  const Expr* high = o.ctx.literal(t->dtype, bounded(t->dtype, o.real(relay::field::AMax)));
  return o.call(op::Clip, {o.arg(0), low, high});
}

Made where(OpCall& o) { return o.broadcast(op::Where, o.args); }

// ---- creation ----

namespace {

// The attribute `shape`; the type has the dims for entries that are not integers.
ir::Result<Dims> shape_attr(OpCall& o) {
  const auto sizes = o.ints(relay::field::Shape);
  if (!sizes) return refuse("its shape is not a list of integers");
  Dims dims;
  for (const std::int64_t d : *sizes) dims.push_back(o.i64(d));
  return dims;
}

}  // namespace

Made full(OpCall& o) {
  RLDB_TRY(const ir::TensorType* value, o.tensor(0));
  RLDB_TRY(const Dims dims, shape_attr(o));
  return o.call(op::Full, {o.ctx.shape(dims), o.arg(0)},
                {{op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(value->dtype))}});
}

Made init(OpCall& o) {
  RLDB_TRY(const Dims dims, shape_attr(o));
  return o.call(o.target, {o.ctx.shape(dims)},
                {{op_attr::Dtype, o.ctx.attr(o.dtype(relay::field::Dtype).value_or(DType::Float(32)))}});
}

Made broadcast_to(OpCall& o) {
  RLDB_TRY(const Dims dims, shape_attr(o));
  return o.broadcast_to(o.arg(0), dims);
}

Made collapse_sum_to(OpCall& o) {
  RLDB_TRY(const Dims dims, shape_attr(o));
  return o.call(op::CollapseSumTo, {o.arg(0), o.ctx.shape(dims)});
}

Made broadcast_to_like(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(1));
  return o.broadcast_to(o.arg(0), dims);
}

Made collapse_sum_like(OpCall& o) { return o.call(op::CollapseSumLike, o.args); }

// Constants give a literal range. Otherwise the number of elements is computed at run time.
Made arange(OpCall& o) {
  const DType dtype = o.dtype(relay::field::Dtype).value_or(DType::Float(32));
  if (o.number(0) && o.number(1) && o.number(2)) {
    Exprs range;
    for (std::size_t i = 0; i < 3; ++i) range.push_back(o.ctx.literal(dtype, *o.number(i)));
    return o.call(op::Arange, range, {{op_attr::Dtype, o.ctx.attr(dtype)}});
  }
  RLDB_TRY(const Expr* length, o.emit(op::Subtract, {o.arg(1), o.arg(0)}));
  RLDB_TRY(const Expr* wide, o.cast(length, DType::Float(64)));
  RLDB_TRY(const Expr* step, o.cast(o.arg(2), DType::Float(64)));
  RLDB_TRY(const Expr* steps, o.emit(op::Divide, {wide, step}));
  RLDB_TRY(const Expr* whole, o.emit(op::Ceil, {steps}));
  RLDB_TRY(const Expr* some, o.emit(op::Maximum, {whole, o.scalar(DType::Float(64), 0)}));
  RLDB_TRY(const Expr* count, o.reshape(some, {o.i64(1)}));
  RLDB_TRY(const Dims dims, o.dims_of_values(count, 1));
  return o.kernel("relay_arange", {o.arg(0), o.arg(2)}, [&](Te& te) -> std::vector<te::Tensor> {
    const Dims to{te.map(dims[0])};
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          const Expr* start = te.graph.load(te.in[0], std::initializer_list<const Expr*>{});
          const Expr* by = te.graph.load(te.in[1], std::initializer_list<const Expr*>{});
          const Expr* offset = ir::mul(o.ctx, ir::cast_to(o.ctx, by->dtype(), i[0]), by);
          return ir::cast_to(o.ctx, dtype, ir::add(o.ctx, start, offset));
        },
        "T_arange")};
  });
}

}  // namespace rldb::to_relax::translations
