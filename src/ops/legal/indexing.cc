// Legalisation: slices, gathers and scatters.
#include "ops/legal/scatter.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/index_attr.h"

namespace rldb::ops::legal {

using ir::Stmt;

namespace {

// The remainder that is not negative, in TVM's form: of truncated remainders.
const Expr* wrap_around(ir::Context& ctx, const Expr* index, const Expr* extent) {
  const auto remainder = [&](const Expr* e) { return ctx.binary(ir::BinaryKind::Mod, e, extent); };
  return remainder(ir::add(ctx, remainder(index), extent));
}

// Where an index of `take` points along an axis, by the mode; "fast", and "" of the gradient, trust it.
const Expr* taken_place(ir::Context& ctx, std::string_view mode, const Expr* index, const Expr* extent) {
  if (mode == "clip") return ir::min(ctx, ir::max(ctx, ctx.i64(0), index), ir::sub(ctx, extent, ctx.i64(1)));
  if (mode == "wrap") return wrap_around(ctx, ir::cast_to(ctx, DType::Int(64), index), extent);
  return mode == "nan" ? wrap(ctx, index, extent) : index;
}

// Whether a place is outside of the axis: there "nan" takes no element.
const Expr* is_outside(ir::Context& ctx, const Expr* place, const Expr* extent) {
  return ir::logical_or(ctx, ir::compare(ctx, ir::BinaryKind::LT, place, ctx.i64(0)),
                        ir::compare(ctx, ir::BinaryKind::LE, extent, place));
}

}  // namespace

Result<const Expr*> take(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  bool flat = attr_is_none(spec(c), op_attr::Axis);
  std::size_t axis = flat ? 0 : std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  std::string_view mode = attr_string(spec(c), op_attr::Mode);
  const TensorType* indices = tensor_type(c->args[1]);
  std::size_t index_ndim = indices ? std::size_t(indices->ndim) : 0;
  return l.call_te("take", indices ? c->args : c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          const Expr* index = nullptr;
          if (indices) {
            ExprList at;
            for (std::size_t k = 0; k < index_ndim; ++k) at.push_back(i[axis + k]);
            index = te.graph.load(te.in[1], std::span<const Expr* const>(at));
          } else {
            index = te.map(c->args[1]);
          }
          const Expr* extent = in->shape[axis];
          const Expr* value_index = taken_place(te.ctx, mode, index, extent);
          ExprList idx;
          for (std::size_t k = 0; k < axis; ++k) idx.push_back(i[k]);
          idx.push_back(value_index);
          for (std::size_t k = axis + index_ndim; k < i.size(); ++k) idx.push_back(i[k]);
          if (mode == "nan" && in->dtype.is_float()) {
            return t.if_else(is_outside(te.ctx, value_index, extent), te.ctx.float_imm(in->dtype, __builtin_nan("")),
                             te.graph.load(in, std::span<const Expr* const>(idx)));
          }
          return te.graph.load(in, std::span<const Expr* const>(idx));
        },
        "T_take")};
  });
}

Result<const Expr*> strided_slice(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY(const TensorType* out, known_result(c));
  auto axes = prims_arg(c->args[1]);
  auto begin = prims_arg(c->args[2]);
  auto strides = c->args.size() > 4 ? prims_arg(c->args[4]) : std::nullopt;
  if (!axes || !begin || (c->args.size() > 4 && !strides)) return refuse(c, "the bounds are not literal tuples");
  bool inbound = attr_bool(spec(c), op_attr::AssumeInbound);
  return l.call_te("strided_slice", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    Tensor in = te.in[0];
    ExprList from(in->shape.size(), nullptr);
    ExprList step(in->shape.size(), nullptr);
    for (std::size_t k = 0; k < axes->size(); ++k) {
      std::size_t a = std::size_t(axis_of(*ir::const_int((*axes)[k]), x->ndim));
      step[a] = strides ? te.map((*strides)[k]) : static_cast<const Expr*>(te.ctx.i64(1));
      from[a] = slice_begin(te.ctx, te.map((*begin)[k]), step[a], in->shape[a], inbound);
    }
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          for (std::size_t k = 0; k < idx.size(); ++k)
            if (from[k]) idx[k] = ir::add(te.ctx, ir::mul(te.ctx, idx[k], step[k]), from[k]);
          return te.graph.load(in, std::span<const Expr* const>(idx));
        },
        "T_strided_slice_with_axes")};
  });
}

// The bounds are data: a small function computes the shape, a match_cast binds its dims, then the slice is cut.
Result<const Expr*> dynamic_strided_slice(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  for (std::size_t i = 1; i < 4; ++i) RLDB_TRY_VOID(known_arg(c, i));
  ir::Context& ctx = l.context();
  std::size_t n = x->shape.size();
  // begin (or end) clamped into the extent, for the sign of the stride.
  auto clamp = [](Topi& t, const Expr* index, const Expr* extent, const Expr* stride) {
    const Expr* zero = t.i64(0);
    const Expr* backwards = t.lt(stride, zero);
    index = t.ctx.select(t.lt(index, zero), ir::add(t.ctx, index, extent), index);
    const Expr* low = t.ctx.select(backwards, t.i64(-1), zero);
    const Expr* high = t.ctx.select(backwards, ir::sub(t.ctx, extent, t.i64(1)), extent);
    return ir::min(t.ctx, ir::max(t.ctx, index, low), high);
  };
  Dims shape_type{ctx.i64(std::int64_t(n))};
  RLDB_TRY(const Expr* shape,
           l.call_te("shape_func", c->args, ctx.tensor(shape_type, DType::Int(64)), [&](Te& te) -> Tensors {
             Topi t(te);
             return {te.graph.compute(
                 std::vector<const Expr*>{t.i64(std::int64_t(n))},
                 [&](Indices i) {
                   const Expr* extent = te.in[0]->shape[n - 1];
                   for (std::size_t k = n - 1; k-- > 0;)
                     extent = te.ctx.select(t.eq(i[0], t.i64(std::int64_t(k))), te.in[0]->shape[k], extent);
                   const Expr* stride = te.graph.load(te.in[3], {i[0]});
                   const Expr* b = clamp(t, te.graph.load(te.in[1], {i[0]}), extent, stride);
                   const Expr* e = clamp(t, te.graph.load(te.in[2], {i[0]}), extent, stride);
                   const Expr* zero = t.i64(0);
                   const Expr* step = te.ctx.select(t.lt(stride, zero), ir::sub(te.ctx, zero, stride), stride);
                   const Expr* span = te.ctx.select(t.lt(stride, zero), ir::sub(te.ctx, b, e), ir::sub(te.ctx, e, b));
                   const Expr* count =
                       ir::floor_div(te.ctx, ir::sub(te.ctx, ir::add(te.ctx, span, step), t.i64(1)), step);
                   return ir::max(te.ctx, count, zero);
                 },
                 "T_shape_func_strided_slice_dynamic")};
           }));
  const Expr* shape_var = l.blocks().emit(shape);
  RLDB_TRY(const ir::Call* to_shape, ctx.call(op::TensorToShape, {shape_var}));
  const Expr* as_shape = l.blocks().emit(to_shape);
  Dims dims;
  for (std::size_t i = 0; i < n; ++i)
    dims.push_back(ctx.var(l.blocks().unique_name("s" + std::to_string(i)), ctx.int64()));
  l.blocks().emit_match_cast(as_shape, ctx.shape_type(dims));
  return l.call_te("dynamic_strided_slice", c->args, ctx.tensor(dims, x->dtype), [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        mapped(te, dims),
        [&](Indices i) {
          ExprList idx;
          for (std::size_t k = 0; k < n; ++k) {
            const Expr* place = t.i64(std::int64_t(k));
            const Expr* stride = te.graph.load(te.in[3], {place});
            const Expr* b = clamp(t, te.graph.load(te.in[1], {place}), te.in[0]->shape[k], stride);
            idx.push_back(ir::add(te.ctx, b, ir::mul(te.ctx, i[k], stride)));
          }
          return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
        },
        "T_strided_slice_dynamic")};
  });
}

Result<const Expr*> gather_elements(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  return l.call_te("gather", c->args, c->type, [&](Te& te) -> Tensors {
    return {te.graph.compute(
        te.in[1]->shape,
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          idx[axis] = te.graph.load(te.in[1], i);
          return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
        },
        "T_gather")};
  });
}

// The kernel reads the indices with their last axis in front.
Result<const Expr*> gather_nd(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  RLDB_TRY(const TensorType* indices, known_arg(c, 1));
  std::size_t batch = std::size_t(attr_int(spec(c), op_attr::BatchDims));
  std::size_t depth = std::size_t(ir::const_int(indices->shape.back()).value_or(0));
  std::size_t index_ndim = indices->shape.size();
  std::vector<int> order{int(index_ndim) - 1};
  for (int i = 0; i + 1 < int(index_ndim); ++i) order.push_back(i);
  return l.call_te("te_gather_nd", c->args, c->type, [&](Te& te) -> Tensors {
    const Tensor which = Topi(te).transpose(te.in[1], order);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx;
          for (std::size_t k = 0; k < batch; ++k) idx.push_back(i[k]);
          for (std::size_t k = 0; k < depth; ++k) {
            ExprList at{te.ctx.i64(std::int64_t(k))};
            for (std::size_t d = 0; d + 1 < index_ndim; ++d) at.push_back(i[d]);
            idx.push_back(te.graph.load(which, std::span<const Expr* const>(at)));
          }
          for (std::size_t k = index_ndim - 1; k < i.size(); ++k) idx.push_back(i[k]);
          return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
        },
        "T_gather_nd")};
  });
}

Result<const Expr*> index_tensor(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("index", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensors which(te.in.begin() + 1, te.in.end());
    ExprList shape = t.broadcast_shape(which);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList lead(i.begin(), i.begin() + std::ptrdiff_t(shape.size()));
          ExprList idx;
          for (std::size_t k = 0; k < which.size(); ++k)
            idx.push_back(wrap(te.ctx, t.at(which[k], lead, shape), te.in[0]->shape[k]));
          idx.insert(idx.end(), i.begin() + std::ptrdiff_t(shape.size()), i.end());
          return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
        },
        "advanced_index")};
  });
}

namespace {

struct Scattered {
  std::size_t axis;
  std::string_view how;
};

// Axes of the updates around the scatter axis are as long as those of the data, except for the first: then
// a count row by row over the others finds the elements of both.
bool rows_agree(ir::Context& ctx, const ir::Buffer* data, const ir::Buffer* updates, std::size_t axis) {
  ir::Analyzer analyzer(ctx);
  for (std::size_t i = 1; i < data->shape.size(); ++i)
    if (i != axis && !analyzer.prove_equal(data->shape[i], updates->shape[i])) return false;
  return !data->shape.empty();
}

// Row by row, as TVM writes it: a parallel loop over all axes but the scatter axis.
const Stmt* scatter_rows(ir::Context& ctx, const Scattered& s, Buffers in, const ir::Buffer* out) {
  const auto count = [&](const ir::Buffer* b, std::size_t from, std::size_t to) {
    return ir::product(ctx, b->shape.subspan(from, to - from));
  };
  const std::size_t n = out->shape.size();
  const Expr* behind = count(in[1], s.axis + 1, n);
  const Expr* length = in[1]->shape[s.axis];
  Writer w(ctx);
  const auto rows = [&](const Expr* fused) -> const Stmt* {
    const Expr* before = ir::floor_div(ctx, fused, behind);
    const Expr* after = ir::floor_mod(ctx, fused, behind);
    const Expr* from = ir::add(ctx, ir::mul(ctx, before, ir::mul(ctx, length, behind)), after);
    const Expr* to = ir::add(ctx, ir::mul(ctx, before, count(out, s.axis, n)), after);
    return w.loop("k", length, [&](const Expr* k) -> const Stmt* {
      const ExprList read = unravel(ctx, ir::add(ctx, from, ir::mul(ctx, k, behind)), in[1]->shape);
      const Expr* index = wrap(ctx, ctx.load(in[1], read), out->shape[s.axis]);
      const ExprList at = unravel(ctx, ir::add(ctx, to, ir::mul(ctx, index, behind)), out->shape);
      return ctx.store(out, combine(ctx, s.how, ctx.load(out, at), ctx.load(in[2], read)), at);
    });
  };
  return w.loop("fused", ir::mul(ctx, count(in[1], 0, s.axis), behind), rows, ir::ForKind::Parallel);
}

}  // namespace

Result<const Expr*> scatter_elements(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  std::string_view how = attr_string(spec(c), op_attr::Reduction);
  return scatter(l, c, "scatter_elements", c->args,
                 [axis, how](ir::Context& ctx, std::span<const ir::Buffer* const> in, const ir::Buffer* out) {
                   if (rows_agree(ctx, out, in[1], axis)) return scatter_rows(ctx, {axis, how}, in, out);
                   return nest(ctx, in[1]->shape, [&](const ExprList& i) -> const Stmt* {
                     ExprList to = i;
                     to[axis] = wrap(ctx, ctx.load(in[1], i), out->shape[axis]);
                     return ctx.store(out, combine(ctx, how, ctx.load(out, to), ctx.load(in[2], i)), to);
                   });
                 });
}

namespace {

// Tensors are counted row by row, as TVM writes it: a parallel loop over what one tuple of indices selects. Indices do
// not count from the end.
const Stmt* scatter_places(ir::Context& ctx, std::string_view how, std::size_t depth, Buffers in,
                           const ir::Buffer* out) {
  Writer w(ctx);
  const ir::Span<const Expr*> tuples = in[1]->shape.subspan(1);
  const Expr* count = ir::product(ctx, tuples);
  const Expr* selected = ir::product(ctx, in[2]->shape.subspan(tuples.size()));
  const auto copied = [&](const Expr* i) -> const Stmt* {
    const ExprList at = unravel(ctx, i, out->shape);
    return ctx.store(out, ctx.load(in[0], at), at);
  };
  const auto update = [&](const Expr* j, const Expr* k) -> const Stmt* {
    const Expr *place = k, *scale = selected;
    for (std::size_t axis = depth; axis-- > 0;) {
      const Expr* at = ir::add(ctx, j, ir::mul(ctx, ctx.i64(std::int64_t(axis)), count));
      const Expr* index = ir::cast_to(ctx, DType::Int(64), ctx.load(in[1], unravel(ctx, at, in[1]->shape)));
      place = ir::add(ctx, place, is_one(scale) ? index : ctx.binary(ir::BinaryKind::Mul, scale, index));
      scale = ir::mul(ctx, scale, out->shape[axis]);
    }
    const ExprList to = unravel(ctx, place, out->shape);
    const Expr* from = ir::add(ctx, ir::mul(ctx, j, selected), k);
    const Expr* value = ctx.load(in[2], unravel(ctx, from, in[2]->shape));
    return ctx.store(out, combine(ctx, how, ctx.load(out, to), value), to);
  };
  const Stmt* updates = w.loop("j", count, [&](const Expr* j) {
    return w.loop(
        "k", selected, [&](const Expr* k) { return update(j, k); }, ir::ForKind::Parallel);
  });
  return w.in_order(w.seq({w.loop("i", ir::product(ctx, out->shape), copied), updates}));
}

}  // namespace

Result<const Expr*> scatter_nd(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* indices, known_arg(c, 1));
  for (const std::size_t i : {0, 2}) RLDB_TRY_VOID(known_arg(c, i));
  auto depth = indices->shape.empty() ? std::nullopt : ir::const_int(indices->shape.back());
  if (!depth) return refuse(c, "the last dim of the indices is not known");
  std::string_view how = attr_string(spec(c), op_attr::Reduction);
  if (how == "mean") return refuse(c, "the reduction \"mean\" is of R.scatter_elements, it is not lowered here");
  const std::size_t depth_of = std::size_t(*depth);
  return l.call_te("scatter_nd", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ir::Context& ctx = te.ctx;
    // The tuple of indices becomes the first axis.
    std::vector<int> order{indices->ndim - 1};
    for (int i = 0; i + 1 < indices->ndim; ++i) order.push_back(i);
    const Tensor inputs[] = {te.in[0], t.transpose(te.in[1], order), te.in[2]};
    const te::Graph::OutputSpec outputs[] = {{te.in[0]->shape, te.in[0]->dtype}};
    const auto write = [&ctx, how, depth_of](Buffers in, Buffers outs) -> const Stmt* {
      return scatter_places(ctx, how, depth_of, in, outs[0]);
    };
    return te.graph.extern_op(outputs, inputs, write, "scatter_nd_generic", kOpenInputs);
  });
}

namespace {

// Adds to the element that an index took; an index that took none, as "nan" allows, gets nothing. `at` makes the
// element's indices of its place along the axis.
template <class At>
const Stmt* add_taken(ir::Context& ctx, std::string_view mode, const ir::Buffer* out, std::size_t axis,
                      const Expr* index, const At& at, const Expr* value) {
  const Expr* extent = out->shape[axis];
  const Expr* place = taken_place(ctx, mode, ir::cast_to(ctx, DType::Int(64), index), extent);
  const ExprList to = at(place);
  const Stmt* added = ctx.store(out, combine(ctx, "add", ctx.load(out, to), value), to);
  return mode == "nan" ? Writer(ctx).when(ir::logical_not(ctx, is_outside(ctx, place, extent)), added) : added;
}

// For indices with one dim, as TVM writes it: for every element around the axis, the gradients along it.
const Stmt* add_rows(ir::Context& ctx, std::string_view mode, std::size_t axis, Buffers in, const ir::Buffer* out) {
  const ir::Span<const Expr*> shape = out->shape;
  const Expr* before = ir::product(ctx, shape.first(axis));
  const Expr* behind = ir::product(ctx, shape.subspan(axis + 1));
  const Expr* length = in[2]->shape[0];
  Writer w(ctx);
  return w.loop("parallel", ir::mul(ctx, before, behind), [&](const Expr* fused) {
    const Expr* row = ir::mul(ctx, ir::floor_div(ctx, fused, behind), behind);
    const Expr* rest = ir::floor_mod(ctx, fused, behind);
    return w.loop("serial", length, [&](const Expr* k) -> const Stmt* {
      const Expr* index = ctx.load(in[2], std::span<const Expr* const>(&k, 1));
      const auto place = [&](const Expr* extent, const Expr* along) {
        return ir::add(ctx, ir::add(ctx, ir::mul(ctx, row, extent), ir::mul(ctx, along, behind)), rest);
      };
      const auto to = [&](const Expr* along) { return unravel(ctx, place(shape[axis], along), shape); };
      return add_taken(ctx, mode, out, axis, index, to, ctx.load(in[0], unravel(ctx, place(length, k), in[0]->shape)));
    });
  });
}

}  // namespace

Result<const Expr*> take_backward(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 1));
  RLDB_TRY(const TensorType* indices, known_arg(c, 2));
  RLDB_TRY(const TensorType* out, known_result(c));
  bool flat = attr_is_none(spec(c), op_attr::Axis);
  std::size_t axis = flat ? 0 : std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  std::size_t index_ndim = indices->shape.size();
  const std::string_view mode = attr_string(spec(c), op_attr::Mode);
  return l.call_te("take_backward", c->args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    te::Graph::OutputSpec outputs[] = {{ctx.list(mapped(te, out->shape)), out->dtype}};
    auto write = [&ctx, mode, axis, index_ndim](std::span<const ir::Buffer* const> in,
                                                std::span<const ir::Buffer* const> outs) -> const Stmt* {
      DType t = outs[0]->dtype;
      Writer w(ctx);
      const Stmt* clear = w.loop("i", ir::product(ctx, outs[0]->shape), [&](const Expr* i) -> const Stmt* {
        return ctx.store(outs[0], ctx.literal(t, 0), unravel(ctx, i, outs[0]->shape));
      });
      if (index_ndim == 1) return w.in_order(w.seq({clear, add_rows(ctx, mode, axis, in, outs[0])}));
      const Stmt* add = nest(ctx, in[0]->shape, [&](const ExprList& i) -> const Stmt* {
        ExprList at(i.begin() + std::ptrdiff_t(axis), i.begin() + std::ptrdiff_t(axis + index_ndim));
        const auto to = [&](const Expr* place) {
          ExprList all(i.begin(), i.begin() + std::ptrdiff_t(axis));
          all.push_back(place);
          all.insert(all.end(), i.begin() + std::ptrdiff_t(axis + index_ndim), i.end());
          return all;
        };
        return add_taken(ctx, mode, outs[0], axis, ctx.load(in[2], at), to, ctx.load(in[0], i));
      });
      return w.in_order(w.seq({clear, add}));
    };
    return te.graph.extern_op(outputs, te.in, write, "take_backward", kOpenInputs);
  });
}

}  // namespace rldb::ops::legal
