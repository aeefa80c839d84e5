// Running sums and products, sorting. Relax has these operators, but no code is made of them, so that they become
// kernels here.
#include <algorithm>

#include "relay/to_relax/translations.h"

namespace rldb::to_relax::translations {

namespace {

using Buffers = std::span<const ir::Buffer* const>;
using ir::BinaryKind;
using ir::Stmt;

// A loop over each dim around `body`.
template <class F>
const Stmt* nest(ir::Context& ctx, std::span<const Expr* const> shape, F&& body) {
  std::vector<const ir::Var*> loops;
  for (std::size_t i = 0; i < shape.size(); ++i) loops.push_back(ctx.var("i" + std::to_string(i), ctx.int64()));
  const Stmt* s = body(Dims(loops.begin(), loops.end()));
  for (std::size_t i = loops.size(); i-- > 0;) s = ctx.for_stmt(loops[i], ctx.i64(0), shape[i], ir::ForKind::Serial, s);
  return s;
}

// Does `a` stand before `b`? NaN is larger than all numbers.
const Expr* less(ir::Context& ctx, const Expr* a, const Expr* b) {
  const Expr* smaller = ir::compare(ctx, BinaryKind::LT, a, b);
  if (!a->dtype().is_float()) return smaller;
  const auto is_nan = [&](const Expr* e) { return ir::compare(ctx, BinaryKind::NE, e, e); };
  return ir::logical_or(ctx, smaller, ir::logical_and(ctx, is_nan(b), ir::logical_not(ctx, is_nan(a))));
}

// How many elements of the axis stand before each; equal ones keep their order.
te::Tensor ranks(ir::Context& ctx, te::Graph& graph, te::Tensor x, std::size_t axis, bool descending) {
  const ir::IterVar k = graph.reduce_axis(x->shape[axis]);
  const std::vector<ir::IterVar> over{k};
  return graph.reduce(
      x->shape,
      [&](te::Indices i) {
        Dims at(i.begin(), i.end());
        const Expr* mine = graph.load(x, at);
        at[axis] = k.var;
        const Expr* other = graph.load(x, at);
        const Expr* before = descending ? less(ctx, mine, other) : less(ctx, other, mine);
        const Expr* behind = descending ? less(ctx, other, mine) : less(ctx, mine, other);
        const Expr* first =
            ir::logical_and(ctx, ir::logical_not(ctx, behind), ir::compare(ctx, BinaryKind::LT, k.var, i[axis]));
        return static_cast<const Expr*>(ctx.cast(DType::Int(64), ir::logical_or(ctx, before, first)));
      },
      over, graph.sum_reducer(DType::Int(64)), "T_rank");
}

enum class Wanted { Values, Indices, Both };

// The first `count` elements in order along an axis, their indices, or both.
Made ordered(OpCall& o, std::string_view name, std::size_t axis, bool descending, const Expr* count, Wanted wanted,
             DType index) {
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  ir::Context& ctx = o.ctx;
  const DType dtype = type->dtype;
  return o.kernel(name, {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    const te::Tensor rank = ranks(ctx, te.graph, x, axis, descending);
    Dims dims(x->shape.begin(), x->shape.end());
    if (count) dims[axis] = te.map(count);
    std::vector<te::Graph::OutputSpec> outputs;
    if (wanted != Wanted::Indices) outputs.push_back({ctx.list(dims), dtype});
    if (wanted != Wanted::Values) outputs.push_back({ctx.list(dims), index});
    const te::Tensor inputs[] = {x, rank};
    const auto write = [&ctx, axis, wanted, index](Buffers in, Buffers out) -> const Stmt* {
      return nest(ctx, in[0]->shape, [&](const Dims& i) -> const Stmt* {
        Dims to = i;
        to[axis] = ctx.load(in[1], i);
        std::vector<const Stmt*> stores;
        if (wanted != Wanted::Indices) stores.push_back(ctx.store(out[0], ctx.load(in[0], i), to));
        if (wanted != Wanted::Values) stores.push_back(ctx.store(out.back(), ir::cast_to(ctx, index, i[axis]), to));
        return ctx.if_stmt(ir::compare(ctx, BinaryKind::LT, to[axis], out[0]->shape[axis]), ctx.seq_stmt(stores));
      });
    };
    return te.graph.extern_op(outputs, inputs, write, name);
  });
}

ir::Result<std::size_t> sorted_axis(OpCall& o, std::int64_t axis) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  return o.axis(axis, std::size_t(t->ndim));
}

Wanted wanted_of(std::string_view ret_type) {
  return ret_type == "values" ? Wanted::Values : ret_type == "indices" ? Wanted::Indices : Wanted::Both;
}

}  // namespace

// Without an axis the data is taken as flat.
static Made scan(OpCall& o, std::string_view name, BinaryKind kind, double start) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const ir::TensorType* type, o.tensor(0));
  const DType dtype = o.dtype("dtype").value_or(type->dtype);
  const Expr* x = o.arg(0);
  RLDB_TRY(const std::size_t axis, o.axis_or_flat(x, dims));
  const bool exclusive = o.flag("exclusive");
  ir::Context& ctx = o.ctx;
  return o.kernel(name, {x}, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Graph::OutputSpec outputs[] = {{te.in[0]->shape, dtype}};
    const auto write = [&ctx, axis, kind, start, exclusive, dtype](Buffers in, Buffers out) -> const Stmt* {
      return nest(ctx, in[0]->shape, [&](const Dims& i) -> const Stmt* {
        Dims before = i;
        before[axis] = ir::sub(ctx, i[axis], ctx.i64(1));
        const Expr* first = ir::compare(ctx, BinaryKind::EQ, i[axis], ctx.i64(0));
        const Expr* so_far =
            ctx.intrin(dtype, ir::Intrinsic::IfThenElse, {first, ctx.literal(dtype, start), ctx.load(out[0], before)});
        const auto element = [&](const Dims& at) { return ir::cast_to(ctx, dtype, ctx.load(in[0], at)); };
        const Expr* next = exclusive ? ctx.intrin(dtype, ir::Intrinsic::IfThenElse,
                                                  {first, ctx.literal(dtype, start), element(before)})
                                     : element(i);
        return ctx.store(out[0], ctx.binary(kind, so_far, next), i);
      });
    };
    return te.graph.extern_op(outputs, te.in, write, name);
  });
}
Made cumsum(OpCall& o) { return scan(o, "relay_cumsum", BinaryKind::Add, 0); }
Made cumprod(OpCall& o) { return scan(o, "relay_cumprod", BinaryKind::Mul, 1); }

Made sort(OpCall& o) {
  RLDB_TRY(const std::size_t axis, sorted_axis(o, o.integer("axis").value_or(-1)));
  return ordered(o, "relay_sort", axis, !o.flag("is_ascend"), nullptr, Wanted::Values, DType::Int(32));
}

Made argsort(OpCall& o) {
  RLDB_TRY(const std::size_t axis, sorted_axis(o, o.integer("axis").value_or(-1)));
  return ordered(o, "relay_argsort", axis, !o.flag("is_ascend"), nullptr, Wanted::Indices,
                 o.dtype("dtype").value_or(DType::Int(32)));
}

// A number below 1 asks for all.
Made topk(OpCall& o) {
  RLDB_TRY(const std::size_t axis, sorted_axis(o, o.integer("axis").value_or(-1)));
  const std::int64_t k = o.integer("k").value_or(-1);
  return ordered(o, "relay_topk", axis, !o.flag("is_ascend"), k < 1 ? nullptr : o.i64(k),
                 wanted_of(o.string("ret_type")), o.dtype("dtype").value_or(DType::Int(32)));
}

Made dyn_topk(OpCall& o) {
  const relay::AttrValue *axis_given = o.attr("axis"), *ascends = o.attr("is_ascend"), *ret_type = o.attr("ret_type");
  RLDB_TRY(const std::size_t axis, sorted_axis(o, axis_given ? axis_given->integer : -1));
  const Expr* count = nullptr;
  if (const auto literal = o.constant_ints(1); literal && literal->size() == 1) {
    count = (*literal)[0] < 1 ? nullptr : o.i64((*literal)[0]);
  } else {
    RLDB_TRY(const Expr* one, o.reshape(o.arg(1), {o.i64(1)}));
    RLDB_TRY(const Dims k, o.dims_of_values(one, 1));
    count = k[0];
  }
  return ordered(o, "relay_topk", axis, !(ascends && ascends->integer != 0), count,
                 wanted_of(ret_type ? ret_type->text : "both"), o.dtype("dtype").value_or(DType::Int(32)));
}

}  // namespace rldb::to_relax::translations
