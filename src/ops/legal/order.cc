// Legalisation: sorting, running sums and products, medians, samples. Sorting is done by packed functions, as in TVM's
// kernels for a CPU.
#include "ops/legal/statements.h"
#include "rldb/bytecode/runtime_function.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/order_attr.h"

namespace rldb::ops::legal {

using ir::Stmt;

namespace {

// Which outputs the packed function fills, and its arguments after the buffers.
struct Order {
  std::string_view function;
  std::string_view block;
  std::vector<te::Graph::OutputSpec> outputs;
  ExprList how;
  // An axis that is shorter in the outputs than in the data, with this literal length: written as TVM writes it.
  int cut_axis = -1;
  std::int64_t cut = 0;
};

Tensors ordered(Te& te, Tensor x, const Order& o) {
  ir::Context& ctx = te.ctx;
  const auto write = [&ctx, o](Buffers in, Buffers out) -> const Stmt* {
    Writer w(ctx);
    ExprList args{w.whole(in[0])};
    for (const ir::Buffer* b : out) {
      ExprList dims(b->shape.begin(), b->shape.end());
      if (o.cut_axis >= 0) dims[std::size_t(o.cut_axis)] = ctx.i32(std::int32_t(o.cut));
      args.push_back(w.whole(b, dims));
    }
    args.insert(args.end(), o.how.begin(), o.how.end());
    return w.call_packed(o.function, args);
  };
  const Tensor inputs[] = {x};
  return te.graph.extern_op(o.outputs, inputs, write, o.block, kPackedMemory);
}

Tensor argsorted(Te& te, Tensor x, int axis, bool ascend, DType index) {
  ir::Context& ctx = te.ctx;
  return ordered(
      te, x, {runtime_function::Argsort, "argsort_cpu", {{x->shape, index}}, {ctx.i32(axis), ctx.bool_imm(ascend)}})[0];
}

// Refuses elements whose order the packed functions do not know.
Result<support::Unit> can_be_ordered(const ir::Call* c, DType t) {
  if (t.lanes == 1 && (t.is_float() || t.is_integral())) return support::Unit{};
  return refuse(c, "elements of `" + to_string(t) + "` have no order");
}

}  // namespace

Result<const Expr*> sort(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY_VOID(can_be_ordered(c, x->dtype));
  const int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  const bool ascend = !attr_bool(spec(c), op_attr::Descending);
  return l.call_te("sort", c->args, c->type, [&](Te& te) -> Tensors {
    Tensor in = te.in[0];
    return ordered(
        te, in,
        {runtime_function::Sort, "sort_cpu", {{in->shape, in->dtype}}, {te.ctx.i32(axis), te.ctx.bool_imm(ascend)}});
  });
}

Result<const Expr*> argsort(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY_VOID(can_be_ordered(c, x->dtype));
  const int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  const bool ascend = !attr_bool(spec(c), op_attr::Descending);
  return l.call_te("argsort", c->args, c->type,
                   [&](Te& te) -> Tensors { return {argsorted(te, te.in[0], axis, ascend, out->dtype)}; });
}

Result<const Expr*> topk(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY_VOID(can_be_ordered(c, x->dtype));
  const std::string_view ret_type = attr_string(spec(c), op_attr::RetType);
  const int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  const bool largest = attr_bool(spec(c), op_attr::Largest);
  std::int64_t k = attr_int(spec(c), op_attr::K);
  const auto extent = ir::const_int(x->shape[std::size_t(axis)]);
  if (k < 1 || (extent && *extent < k)) k = 0;  // all
  DType index = attr_dtype(spec(c), op_attr::Dtype);
  if (index.is_void()) index = x->dtype;
  return l.call_te("topk", c->args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    ExprList dims = topi::shape_list(te.in[0]);
    if (k > 0) dims[std::size_t(axis)] = ctx.i64(k);
    Order o{runtime_function::Topk, "topk_cpu", {}, {}};
    if (ret_type != "indices") o.outputs.push_back({ctx.list(dims), x->dtype});
    if (ret_type != "values") o.outputs.push_back({ctx.list(dims), index});
    o.how = {ctx.i32(std::int32_t(k)), ctx.i32(axis), ctx.string(ret_type), ctx.bool_imm(!largest)};
    if (k > 0) {
      o.cut_axis = axis;
      o.cut = k;
    }
    return ordered(te, te.in[0], o);
  });
}

namespace {

// Each element from the one before it along the axis; rows in parallel. In row-major positions, as TVM writes it.
const Stmt* scan_rows(Writer& w, Topi& t, topi::Element element, const ir::Buffer* in, const ir::Buffer* out,
                      std::size_t axis, const Expr* identity, bool exclusive) {
  ir::Context& ctx = w.ctx;
  const Expr *before = ctx.i64(1), *after = ctx.i64(1), *extent = in->shape[axis];
  for (std::size_t i = 0; i < axis; ++i) before = ir::mul(ctx, before, in->shape[i]);
  for (std::size_t i = axis + 1; i < in->shape.size(); ++i) after = ir::mul(ctx, after, in->shape[i]);
  const auto input = [&](const Expr* at) {
    return ir::cast_to(ctx, out->dtype, ctx.load(in, unravel(ctx, at, in->shape)));
  };
  const auto row = [&](const Expr* v) -> const Stmt* {
    const Expr* base = ir::add(ctx, ir::mul(ctx, ir::mul(ctx, ir::floor_div(ctx, v, after), extent), after),
                               ir::floor_mod(ctx, v, after));
    const Stmt* start = ctx.store(out, exclusive ? identity : input(base), unravel(ctx, base, out->shape));
    const Stmt* rest = w.loop("k", ir::sub(ctx, extent, ctx.i64(1)), [&](const Expr* i) -> const Stmt* {
      const Expr* k = ir::add(ctx, i, ctx.i64(1));
      const Expr* here = ir::add(ctx, base, ir::mul(ctx, k, after));
      const Expr* last = ir::add(ctx, base, ir::mul(ctx, ir::sub(ctx, k, ctx.i64(1)), after));
      const Expr* sum = element(t, ctx.load(out, unravel(ctx, last, out->shape)), input(exclusive ? last : here));
      return ctx.store(out, sum, unravel(ctx, here, out->shape));
    });
    const Stmt* both = w.seq({start, rest});
    // TVM writes the first element of an axis that may be empty.
    const auto known = ir::const_int(extent);
    return known && *known > 0 ? both : w.when(t.lt(ctx.i64(0), extent), both);
  };
  return w.loop("fused", ir::mul(ctx, before, after), row, ir::ForKind::Parallel);
}

Result<const Expr*> scan(Legalizer& l, const ir::Call* c, topi::Element element, double identity) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  const bool flat = attr_is_none(spec(c), op_attr::Axis);
  const std::size_t axis = flat ? 0 : std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  const bool exclusive = attr_bool(spec(c), op_attr::Exclusive);
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    Topi outer(te);
    ir::Context& ctx = te.ctx;
    const Tensor in = flat ? outer.reshape(te.in[0], {ir::product(ctx, te.in[0]->shape)}) : te.in[0];
    const te::Graph::OutputSpec outputs[] = {{in->shape, out->dtype}};
    const auto write = [&te, element, axis, exclusive, identity, dtype = out->dtype](Buffers ins,
                                                                                     Buffers outs) -> const Stmt* {
      Writer w(te.ctx);
      Topi t(te);
      return scan_rows(w, t, element, ins[0], outs[0], axis, te.ctx.literal(dtype, identity), exclusive);
    };
    const Tensor inputs[] = {in};
    return te.graph.extern_op(outputs, inputs, write, std::string(op_name(c)) + "_generic", kOpenInputs);
  });
}

}  // namespace

Result<const Expr*> cumsum(Legalizer& l, const ir::Call* c) { return scan(l, c, topi::add_element, 0); }
Result<const Expr*> cumprod(Legalizer& l, const ir::Call* c) { return scan(l, c, topi::multiply_element, 1); }

namespace {

// The elements of `x` at `indices` along an axis, all other indices the same.
Tensor gather(Te& te, Tensor x, Tensor indices, int axis) {
  return te.graph.compute(
      indices->shape,
      [&](Indices i) {
        ExprList idx = topi::vars(i);
        idx[std::size_t(axis)] = te.graph.load(indices, i);
        return te.graph.load(x, std::span<const Expr* const>(idx));
      },
      "T_gather");
}

// The reduced elements moved after the others and merged into one axis.
Tensor joined_axes(Topi& t, Tensor x, const std::vector<int>& axes) {
  std::vector<int> order;
  ExprList shape, reduced;
  for (int i = 0; i < x->ndim(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      order.push_back(i);
      shape.push_back(x->shape[std::size_t(i)]);
    }
  for (int a : axes) {
    order.push_back(a);
    reduced.push_back(x->shape[std::size_t(a)]);
  }
  shape.push_back(ir::product(t.ctx, reduced));
  return t.reshape(t.transpose(x, order), shape);
}

}  // namespace

// The lower of the two in the middle. With one axis also its index, the first in order.
Result<const Expr*> median(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY_VOID(can_be_ordered(c, x->dtype));
  const auto given = attr_ints(spec(c), op_attr::Axis);
  std::vector<int> axes = given ? axes_of(*given, x->ndim) : topi::all_axes(x->ndim);
  const bool keep = attr_bool(spec(c), op_attr::Keepdims);
  const bool one_axis = given && given->size() == 1;
  for (int a : axes)
    if (ir::is_const(x->shape[std::size_t(a)], 0)) return refuse(c, "the median of an empty axis is not defined");
  return l.call_te("median", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ir::Context& ctx = te.ctx;
    Tensor in = te.in[0];
    if (!one_axis) in = joined_axes(t, in, axes);
    const int axis = one_axis ? axes[0] : in->ndim() - 1;
    const Tensor order = argsorted(te, in, axis, true, DType::Int(64));
    ExprList one = topi::shape_list(in);
    const Expr* last = ir::sub(ctx, one[std::size_t(axis)], ctx.i64(1));
    one[std::size_t(axis)] = ctx.i64(1);
    const Tensor middle = t.full(one, simplify(ctx, ir::floor_div(ctx, last, ctx.i64(2))));
    Tensor values = gather(te, gather(te, in, order, axis), middle, axis);
    if (one_axis) {
      Tensor index = gather(te, order, middle, axis);
      if (keep) return {values, index};
      return {t.squeeze(values, {axis}), t.squeeze(index, {axis})};
    }
    ExprList shape;
    for (int i = 0; i < x->ndim; ++i) {
      const bool gone = std::find(axes.begin(), axes.end(), i) != axes.end();
      if (!gone) shape.push_back(te.in[0]->shape[std::size_t(i)]);
      if (gone && keep) shape.push_back(ctx.i64(1));
    }
    return {t.reshape(values, shape)};
  });
}

// The first position in a row of probabilities where their sum so far exceeds the uniform sample; the last one if there
// is none.
Result<const Expr*> multinomial(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY(const TensorType* prob, known_arg(c, 0));
  if (ir::is_const(prob->shape[1], 0)) return refuse(c, "there is nothing to choose from");
  return l.call_te("multinomial_from_uniform", c->args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    const te::Graph::OutputSpec outputs[] = {{ctx.list(mapped(te, out->shape)), out->dtype}};
    const auto write = [&te](Buffers in, Buffers outs) -> const Stmt* {
      Writer w(te.ctx);
      Topi t(te);
      ir::Context& ctx = te.ctx;
      const Expr* zero = ctx.i64(0);
      const Expr* choices = in[0]->shape[1];
      return w.loop("i", outs[0]->shape[0], [&](const Expr* i) -> const Stmt* {
        const ir::Buffer* sum = w.cell("sum", in[0]->dtype);
        const ir::Buffer* found = w.cell("found", DType::Int(64));
        const Expr* row = ir::cast_to(ctx, DType::Int(64), w.load(in[2], {i, zero}));
        const Expr* sample = ir::cast_to(ctx, in[0]->dtype, w.load(in[1], {i, zero}));
        const Stmt* each = w.loop("j", choices, [&](const Expr* j) -> const Stmt* {
          const Expr* open = ir::logical_and(ctx, t.lt(w.get(found), zero), t.lt(sample, w.get(sum)));
          return w.seq({w.set(sum, ctx.binary(ir::BinaryKind::Add, w.get(sum), w.load(in[0], {row, j}))),
                        w.when(open, w.set(found, j))});
        });
        const Stmt* none = w.when(t.lt(w.get(found), zero), w.set(found, ir::sub(ctx, choices, ctx.i64(1))));
        return w.seq({w.declare(sum), w.declare(found), w.set(sum, ctx.literal(in[0]->dtype, 0)),
                      w.set(found, ctx.i64(-1)), each, none, w.store(outs[0], w.get(found), {i, zero})});
      });
    };
    return te.graph.extern_op(outputs, te.in, write, "T_get_sample_index");
  });
}

}  // namespace rldb::ops::legal
