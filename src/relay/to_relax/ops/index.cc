// Operators that pick and place elements.
#include "rldb/ir/op/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "relay/to_relax/translations.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/inspect.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op/order.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

// For lists shorter than the data the last axes are kept whole.
Made strided_slice_by(OpCall& o, const Ints& begin, const Ints& end, const Ints& strides) {
  RLDB_TRY(const Dims dims, o.dims(0));
  const bool sizes = o.string(relay::field::SliceMode) == "size";
  const auto given = o.ints(relay::field::Axes);
  Ints axes;
  Exprs from, to, step;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    RLDB_TRY(const std::size_t axis, o.axis(given && i < given->size() ? (*given)[i] : std::int64_t(i), dims.size()));
    const std::int64_t stride = sizes || strides.empty() ? 1
                                : i < strides.size()     ? strides[i]
                                : strides.size() == 1    ? strides[0]
                                                         : 1;
    if (stride == 0) return refuse("a stride is 0");
    const Expr* extent = dims[axis];
    const Expr* start = begin[i] < 0 ? ir::add(o.ctx, extent, o.i64(begin[i])) : o.i64(begin[i]);
    const Expr* stop = extent;
    if (i < end.size()) {
      if (sizes)
        stop = end[i] < 0 ? extent : ir::add(o.ctx, start, o.i64(end[i]));
      else
        stop = o.i64(end[i]);
    } else if (stride < 0) {
      stop = o.i64(std::numeric_limits<std::int32_t>::min());
    }
    axes.push_back(std::int64_t(axis));
    from.push_back(begin[i] < 0 && !sizes ? o.i64(begin[i]) : start);
    to.push_back(stop);
    step.push_back(o.i64(stride));
  }
  return o.call(op::StridedSlice, {o.arg(0), o.prims(axes), o.ctx.tuple(from), o.ctx.tuple(to), o.ctx.tuple(step)});
}

Made strided_slice(OpCall& o) {
  const auto begin = o.ints(relay::field::Begin), end = o.ints(relay::field::End);
  if (!begin || !end) return refuse("its begin and end are not lists of integers");
  return strided_slice_by(o, *begin, *end, o.ints(relay::field::Strides).value_or(Ints()));
}

Made slice_like(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const Dims like, o.dims(1));
  Ints axes = o.ints(relay::field::Axes).value_or(Ints());
  if (axes.empty()) axes = iota(0, std::int64_t(std::min(dims.size(), like.size())));
  Exprs begin, end, strides;
  for (std::int64_t& a : axes) {
    RLDB_TRY(const std::size_t at, o.axis(a, dims.size()));
    RLDB_TRY(const std::size_t other, o.axis(a, like.size()));
    a = std::int64_t(at);
    begin.push_back(o.i64(0));
    end.push_back(like[other]);
    strides.push_back(o.i64(1));
  }
  return o.call(op::StridedSlice,
                {o.arg(0), o.prims(axes), o.ctx.tuple(begin), o.ctx.tuple(end), o.ctx.tuple(strides)});
}

namespace {

// An index brought into an axis according to the mode.
const Expr* index_within(OpCall& o, const Expr* index, const Expr* extent, std::string_view mode) {
  ir::Context& ctx = o.ctx;
  index = ir::cast_to(ctx, DType::Int(64), index);
  if (mode == "wrap") return ir::floor_mod(ctx, index, extent);
  if (mode == "clip") return ir::max(ctx, ir::min(ctx, index, ir::sub(ctx, extent, ctx.i64(1))), ctx.i64(0));
  return index;
}

// The first `batch` axes of data and indices correspond.
Made take_batched(OpCall& o, std::size_t axis, std::size_t batch, std::string_view mode) {
  return o.kernel("relay_take", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0], indices = te.in[1];
    Dims dims(x->shape.begin(), x->shape.begin() + std::ptrdiff_t(axis));
    dims.insert(dims.end(), indices->shape.begin() + std::ptrdiff_t(batch), indices->shape.end());
    dims.insert(dims.end(), x->shape.begin() + std::ptrdiff_t(axis) + 1, x->shape.end());
    const std::size_t inner = indices->shape.size() - batch;
    return {te.graph.compute(
        dims,
        [&](te::Indices i) {
          Dims where(i.begin(), i.begin() + std::ptrdiff_t(batch));
          where.insert(where.end(), i.begin() + std::ptrdiff_t(axis), i.begin() + std::ptrdiff_t(axis + inner));
          Dims at(i.begin(), i.begin() + std::ptrdiff_t(axis));
          at.push_back(index_within(o, te.graph.load(indices, where), x->shape[axis], mode));
          at.insert(at.end(), i.begin() + std::ptrdiff_t(axis + inner), i.end());
          return te.graph.load(x, at);
        },
        "T_take")};
  });
}

}  // namespace

// Without an axis the data is flattened.
Made take(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  const std::string_view mode = o.string(relay::field::Mode);
  const Expr* x = o.arg(0);
  RLDB_TRY(const std::size_t axis, o.axis_or_flat(x, dims));
  RLDB_TRY(const ir::TensorType* indices, o.tensor(1));
  std::int64_t batch = o.integer(relay::field::BatchDims).value_or(0);
  if (batch < 0) batch += indices->ndim;
  if (batch > 0) return take_batched(o, axis, std::size_t(batch), mode);
  return o.call(op::Take, {x, o.arg(1)},
                {{op_attr::Axis, o.ctx.attr(std::int64_t(axis))}, {op_attr::Mode, o.ctx.attr(mode)}});
}

Made gather(OpCall& o) {
  return o.call(op::GatherElements, o.args, {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(0))}});
}

namespace {

// Coordinates moved to the last axis, where Relax expects them.
Made coordinates_last(OpCall& o, const Expr* indices) {
  RLDB_TRY(const ir::TensorType* t, o.tensor_of(indices));
  Ints axes = iota(1, t->ndim);
  axes.push_back(0);
  RLDB_TRY(const Expr* moved, o.permute(indices, axes));
  return o.cast(moved, DType::Int(64));
}

}  // namespace

Made gather_nd(OpCall& o) {
  RLDB_TRY(const Expr* indices, coordinates_last(o, o.arg(1)));
  return o.call(op::GatherNd, {o.arg(0), indices},
                {{op_attr::BatchDims, o.ctx.attr(o.integer(relay::field::BatchDims).value_or(0))}});
}

namespace {

Made scattered(OpCall& o, std::string_view reduction) {
  return o.call(op::ScatterElements, o.args,
                {{op_attr::Axis, o.ctx.attr(o.integer(relay::field::Axis).value_or(0))},
                 {op_attr::Reduction, o.ctx.attr(reduction)}});
}

}  // namespace

Made scatter(OpCall& o) { return scattered(o, "update"); }
Made scatter_add(OpCall& o) { return scattered(o, "add"); }
Made scatter_elements(OpCall& o) { return scattered(o, o.string(relay::field::Reduction)); }

Made scatter_nd(OpCall& o) {
  RLDB_TRY(const Expr* indices, coordinates_last(o, o.arg(1)));
  return o.call(op::ScatterNd, {o.arg(0), indices, o.arg(2)},
                {{op_attr::Reduction, o.ctx.attr(o.string(relay::field::Mode))}});
}

// The first field is the data.
Made adv_index(OpCall& o) {
  RLDB_TRY(Exprs fields, o.fields(0));
  if (fields.size() < 2) return refuse("its tuple has no indices");
  const Expr* data = fields[0];
  fields.erase(fields.begin());
  return o.call(op::IndexTensor, {data, o.ctx.tuple(fields)});
}

Made one_hot_of(OpCall& o, const Expr* depth, bool literal) {
  RLDB_TRY(const ir::TensorType* on, o.tensor(1));
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(-1), dims.size() + 1));
  const DType dtype = o.dtype(relay::field::Dtype).value_or(on->dtype);
  if (literal && o.number(1) && o.number(2))
    return o.call(op::OneHot, {o.arg(0), o.ctx.literal(dtype, *o.number(1)), o.ctx.literal(dtype, *o.number(2))},
                  {{op_attr::Depth, o.ctx.attr(*int_of(depth))}, {op_attr::Axis, o.ctx.attr(std::int64_t(axis))}});
  return o.kernel("relay_one_hot", {o.arg(0), o.arg(1), o.arg(2)}, [&](Te& te) -> std::vector<te::Tensor> {
    Dims to(te.in[0]->shape.begin(), te.in[0]->shape.end());
    to.insert(to.begin() + std::ptrdiff_t(axis), te.map(depth));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at(i.begin(), i.end());
          at.erase(at.begin() + std::ptrdiff_t(axis));
          const Expr* index = ir::cast_to(o.ctx, DType::Int(64), te.graph.load(te.in[0], at));
          const Expr* hit = ir::compare(o.ctx, ir::BinaryKind::EQ, index, i[axis]);
          const auto value = [&](std::size_t k) {
            return ir::cast_to(o.ctx, dtype, te.graph.load(te.in[k], std::initializer_list<const Expr*>{}));
          };
          return static_cast<const Expr*>(o.ctx.select(hit, value(1), value(2)));
        },
        "T_one_hot")};
  });
}
Made one_hot(OpCall& o) { return one_hot_of(o, o.i64(o.integer(relay::field::Depth).value_or(1)), true); }

// Elements at positions beyond the length of their sequence become the mask.
Made sequence_mask(OpCall& o) {
  const std::size_t axis = o.integer(relay::field::Axis).value_or(0) == 0 ? 0 : 1;
  const double mask = o.real(relay::field::MaskValue);
  RLDB_TRY(const Dims dims, o.dims(0));
  if (dims.size() < 2) return refuse("its data has fewer than two axes");
  return o.kernel("relay_sequence_mask", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor x = te.in[0];
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          const Expr* length =
              ir::cast_to(o.ctx, DType::Int(64), te.graph.load(te.in[1], {static_cast<const Expr*>(i[1 - axis])}));
          const Expr* inside = ir::compare(o.ctx, ir::BinaryKind::LT, i[axis], length);
          return static_cast<const Expr*>(o.ctx.select(inside, te.graph.load(x, i), o.ctx.literal(x->dtype, mask)));
        },
        "T_sequence_mask")};
  });
}

Made trilu(OpCall& o) {
  const auto k = o.constant_ints(1);
  if (!k || k->size() != 1) return refuse("its diagonal is not a constant");
  return o.call(o.flag(relay::field::Upper) ? op::Triu : op::Tril, {o.arg(0), o.i64((*k)[0])});
}

Made einsum(OpCall& o) {
  return o.call(op::Einsum, {o.arg(0)}, {{op_attr::Subscripts, o.ctx.attr(o.string(relay::field::Equation))}});
}

// A sequence for each row of values.
static Made searchsorted_rows(OpCall& o, DType dtype) {
  RLDB_TRY(const ir::TensorType* sequence, o.tensor(0));
  RLDB_TRY(const ir::TensorType* values, o.tensor(1));
  if (sequence->ndim != values->ndim) return refuse("its sequences and values have different ranks");
  const ir::BinaryKind before = o.flag(relay::field::Right) ? ir::BinaryKind::LE : ir::BinaryKind::LT;
  return o.kernel("relay_searchsorted", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    const te::Tensor sorted = te.in[0], v = te.in[1];
    const ir::IterVar k[] = {te.graph.reduce_axis(sorted->shape[sorted->shape.size() - 1])};
    return {te.graph.reduce(
        v->shape,
        [&](te::Indices i) {
          Dims at(i.begin(), i.end());
          at.back() = k[0].var;
          const Expr* hit = ir::compare(o.ctx, before, te.graph.load(sorted, at), te.graph.load(v, i));
          return static_cast<const Expr*>(o.ctx.select(hit, o.ctx.literal(dtype, 1), o.ctx.literal(dtype, 0)));
        },
        k, te.graph.sum_reducer(dtype), "T_searchsorted")};
  });
}

// One ascending sequence for all values, or one for each row of them.
Made searchsorted(OpCall& o) {
  RLDB_TRY(const ir::TensorType* sequence, o.tensor(0));
  const DType dtype = o.dtype(relay::field::Dtype).value_or(DType::Int(32));
  if (sequence->ndim != 1) return searchsorted_rows(o, dtype);
  RLDB_TRY(const Expr* made,
           o.emit(op::Bucketize, {o.arg(1), o.arg(0)}, {{op_attr::Right, o.ctx.attr(o.flag(relay::field::Right))}}));
  return o.cast(made, dtype);
}

// The position of each number in the permutation.
Made invert_permutation(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  if (t->ndim != 1) return refuse("its operand is not of rank 1");
  RLDB_TRY(const Expr* zeros, o.emit(op::ZerosLike, {o.arg(0)}));
  RLDB_TRY(const Expr* places, o.kernel("relay_places", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    return {te.graph.compute(
        te.in[0]->shape, [&](te::Indices i) { return ir::cast_to(o.ctx, t->dtype, i[0]); }, "T_places")};
  }));
  RLDB_TRY(const Expr* indices, o.cast(o.arg(0), DType::Int(64)));
  return o.call(op::ScatterElements, {zeros, indices, places},
                {{op_attr::Axis, o.ctx.attr(0)}, {op_attr::Reduction, o.ctx.attr("update")}});
}

// Diagonals k1 to k2 of the last two axes replaced. If there are several, each is a row of the operand, the last one
// first, aligned to the row's beginning or end as the attributes specify.
Made matrix_set_diag(OpCall& o) {
  const std::int64_t first = o.integer(relay::field::K1).value_or(0), last = o.integer(relay::field::K2).value_or(0);
  RLDB_TRY(const Dims dims, o.dims(0));
  if (dims.size() < 2 || last < first) return refuse("its data is not a matrix, or its range of diagonals is empty");
  const bool several = first != last, right_above = o.flag(relay::field::SuperDiagRightAlign),
             right_below = o.flag(relay::field::SubDiagRightAlign);
  return o.kernel("relay_matrix_set_diag", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    const te::Tensor x = te.in[0], diagonal = te.in[1];
    return {te.graph.compute(
        x->shape,
        [&](te::Indices i) {
          const std::size_t rank = i.size();
          const Expr *row = i[rank - 2], *column = i[rank - 1], *k = ir::sub(ctx, column, row), *zero = ctx.i64(0);
          const Expr* above = ir::compare(ctx, ir::BinaryKind::GE, k, zero);
          const Expr* hit = ir::logical_and(ctx, ir::compare(ctx, ir::BinaryKind::GE, k, ctx.i64(first)),
                                            ir::compare(ctx, ir::BinaryKind::LE, k, ctx.i64(last)));
          Dims at(i.begin(), i.end() - 2);
          const Expr* place = ctx.select(above, row, column);
          if (several) {
            at.push_back(ir::sub(ctx, ctx.i64(last), k));
            // The amount by which a diagonal is shorter than a row.
            const Expr* rows = ir::add(ctx, x->shape[rank - 2], ir::min(ctx, k, zero));
            const Expr* columns = ir::sub(ctx, x->shape[rank - 1], ir::max(ctx, k, zero));
            const Expr* length = diagonal->shape[diagonal->shape.size() - 1];
            const Expr* free = ir::sub(ctx, length, ir::min(ctx, rows, columns));
            place = ir::add(ctx, place, ctx.select(above, right_above ? free : zero, right_below ? free : zero));
          }
          at.push_back(place);
          return static_cast<const Expr*>(
              ctx.intrin(x->dtype, ir::intrin::IfThenElse, {hit, te.graph.load(diagonal, at), te.graph.load(x, i)}));
        },
        "T_matrix_set_diag")};
  });
}

// Windows over the axes from `axis` on: where each begins, then its contents.
Made sliding_window(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  RLDB_TRY(const std::size_t axis, o.axis(o.integer(relay::field::Axis).value_or(0), dims.size()));
  const Ints window = o.ints(relay::field::WindowShape).value_or(Ints()),
             strides = o.ints(relay::field::Strides).value_or(Ints());
  if (window.size() != dims.size() - axis || strides.size() != window.size())
    return refuse("its windows are not known");
  return o.kernel("relay_sliding_window", {o.arg(0)}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    const te::Tensor x = te.in[0];
    Dims to(x->shape.begin(), x->shape.begin() + std::ptrdiff_t(axis));
    for (std::size_t k = 0; k < window.size(); ++k) {
      const Expr* free = ir::sub(ctx, x->shape[axis + k], ctx.i64(window[k]));
      to.push_back(ir::add(ctx, ir::floor_div(ctx, free, ctx.i64(strides[k])), ctx.i64(1)));
    }
    for (const std::int64_t w : window) to.push_back(ctx.i64(w));
    return {te.graph.compute(
        to,
        [&](te::Indices i) {
          Dims at(i.begin(), i.begin() + std::ptrdiff_t(axis));
          for (std::size_t k = 0; k < window.size(); ++k)
            at.push_back(ir::add(ctx, ir::mul(ctx, i[axis + k], ctx.i64(strides[k])), i[axis + window.size() + k]));
          return te.graph.load(x, at);
        },
        "T_sliding_window")};
  });
}

// (values, indices, inverse, number[, counts])
Made unique(OpCall& o) {
  const bool counts = o.flag(relay::field::ReturnCounts);
  const auto yes = [&](bool v) { return static_cast<const Expr*>(o.ctx.bool_imm(v)); };
  RLDB_TRY(const Expr* all,
           o.emit(op::Unique, {o.arg(0), yes(o.flag(relay::field::Sorted)), yes(true), yes(true), yes(counts)}));
  RLDB_TRY(const ir::TensorType* data, o.tensor(0));
  const Expr* n = o.ctx.var(o.blocks.unique_name("n"), o.ctx.int64());
  Exprs made;
  for (std::int64_t k = 0; k < (counts ? 4 : 3); ++k) {
    RLDB_TRY(const ir::TupleGetItem* part, o.ctx.tuple_get(all, k));
    const Dims dims{k == 2 ? data->shape[0] : n};
    const Expr* e =
        o.blocks.emit_match_cast(o.blocks.emit(part), o.ctx.tensor(dims, k == 0 ? data->dtype : DType::Int(64)));
    RLDB_TRY(const Expr* narrow, k == 0 ? Made(e) : o.cast(e, DType::Int(32)));
    made.push_back(narrow);
  }
  const Expr* shape[] = {n};
  RLDB_TRY(const Expr* number, o.emit(op::ShapeToTensor, {o.ctx.shape(shape)}));
  RLDB_TRY(const Expr* narrow, o.cast(number, DType::Int(32)));
  made.insert(made.begin() + 3, narrow);
  return o.ctx.tuple(made);
}

// One index per row.
Made argwhere(OpCall& o) {
  RLDB_TRY(const ir::TensorType* t, o.tensor(0));
  RLDB_TRY(const Expr* found, o.emit(op::Nonzero, {o.arg(0)}));
  const Dims dims{o.i64(t->ndim), o.ctx.var(o.blocks.unique_name("n"), o.ctx.int64())};
  const Expr* shaped = o.blocks.emit_match_cast(found, o.ctx.tensor(dims, DType::Int(64)));
  RLDB_TRY(const Expr* rows, o.permute(shaped, {1, 0}));
  return o.cast(rows, DType::Int(32));
}

}  // namespace rldb::to_relax::translations
