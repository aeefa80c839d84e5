// Sparse matrices: by rows (values, their columns, where each row begins), in blocks too, and by coordinates. Products
// and sums are computed on the dense matrix.
#include "relay/to_relax/translations.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/creation.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op/linear_algebra.h"
#include "rldb/ir/op_attr/combine_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/relay/ir/field.h"

namespace rldb::to_relax::translations {

namespace {

// Row and column of each value.
Made places(OpCall& o, const Expr* columns, const Expr* begins) {
  return o.kernel("relay_sparse_places", {columns, begins}, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    const te::Tensor column = te.in[0], begin = te.in[1];
    const auto wide = [&](const Expr* e) { return ir::cast_to(ctx, DType::Int(64), e); };
    const ir::IterVar rows[] = {te.graph.reduce_axis(ir::sub(ctx, begin->shape[0], ctx.i64(1)), "r")};
    // The row of a value is the number of rows that end before it.
    const te::Tensor row = te.graph.reduce(
        column->shape,
        [&](te::Indices i) {
          const Expr* end = wide(te.graph.load(begin, {ir::add(ctx, rows[0].var, ctx.i64(1))}));
          return ctx.select(ir::compare(ctx, ir::BinaryKind::LE, end, i[0]), ctx.i64(1), ctx.i64(0));
        },
        rows, te.graph.sum_reducer(DType::Int(64)), "T_row");
    return {te.graph.compute(
        Dims{column->shape[0], ctx.i64(2)},
        [&](te::Indices i) {
          const Expr* first = ir::compare(ctx, ir::BinaryKind::EQ, i[1], ctx.i64(0));
          return ctx.select(first, te.graph.load(row, {i[0]}), wide(te.graph.load(column, {i[0]})));
        },
        "T_places")};
  });
}

// The dense matrix of operands `first` (values, or blocks of them), columns and row starts, `columns` wide.
Made dense_of(OpCall& o, std::size_t first, const Expr* columns) {
  RLDB_TRY(const Dims values, o.dims(first));
  RLDB_TRY(const Dims begins, o.dims(first + 2));
  RLDB_TRY(const ir::TensorType* t, o.tensor(first));
  if ((values.size() != 1 && values.size() != 3) || begins.size() != 1)
    return refuse("its values are not in rows or in rows of blocks");
  const bool blocks = values.size() == 3;
  Dims shape{ir::sub(o.ctx, begins[0], o.i64(1)), columns};
  if (blocks) {
    if (!int_of(columns) || !int_of(values[2]) || *int_of(values[2]) < 1 || *int_of(columns) % *int_of(values[2]) != 0)
      return refuse("its blocks do not fill the columns");
    shape[1] = o.i64(*int_of(columns) / *int_of(values[2]));
    shape.insert(shape.end(), {values[1], values[2]});
  }
  RLDB_TRY(const Expr* zeros, o.emit(op::Zeros, {o.ctx.shape(shape)}, {{op_attr::Dtype, o.ctx.attr(t->dtype)}}));
  RLDB_TRY(const Expr* where, places(o, o.arg(first + 1), o.arg(first + 2)));
  RLDB_TRY(const Expr* made,
           o.emit(op::ScatterNd, {zeros, where, o.arg(first)}, {{op_attr::Reduction, o.ctx.attr("add")}}));
  if (!blocks) return made;
  RLDB_TRY(const Expr* rows, o.permute(made, {0, 2, 1, 3}));
  return o.reshape(rows, {ir::mul(o.ctx, shape[0], values[1]), columns});
}

}  // namespace

// Operands: a dense matrix, and a sparse one in three parts. The second is transposed.
Made sparse_dense(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  if (dims.size() != 2) return refuse("its first operand is not a matrix");
  RLDB_TRY(const Expr* sparse, dense_of(o, 1, dims[1]));
  const bool first = o.flag(relay::field::SparseLhs);
  RLDB_TRY(const Expr* columns, o.permute(first ? o.arg(0) : sparse, {1, 0}));
  return o.call(op::Matmul, {first ? sparse : o.arg(0), columns});
}

Made sparse_add(OpCall& o) {
  RLDB_TRY(const Dims dims, o.dims(0));
  if (dims.size() != 2) return refuse("its first operand is not a matrix");
  RLDB_TRY(const Expr* sparse, dense_of(o, 1, dims[1]));
  return o.call(op::Add, {o.arg(0), sparse});
}

// Coordinates in a tensor of one shape converted to those in a tensor of another, in which one dim may be -1. Operands:
// coordinates, both shapes. Returns the shape too.
Made sparse_reshape(OpCall& o) {
  return o.kernel("relay_sparse_reshape", o.args, [&](Te& te) -> std::vector<te::Tensor> {
    ir::Context& ctx = te.ctx;
    constexpr DType kWide = DType::Int(64);
    const te::Tensor at = te.in[0], from = te.in[1], wanted = te.in[2];
    const auto load = [&](te::Tensor t, const Expr* i) { return ir::cast_to(ctx, kWide, te.graph.load(t, {i})); };
    const auto product = [&](te::Tensor t, std::string_view name) {
      const ir::IterVar k[] = {te.graph.reduce_axis(t->shape[0])};
      return te.graph.reduce(
          Dims{ctx.i64(1)}, [&](te::Indices) { return load(t, k[0].var); }, k, te.graph.prod_reducer(kWide), name);
    };
    const te::Tensor all = product(from, "T_all"), others = product(wanted, "T_others");
    const te::Tensor to = te.graph.compute(
        wanted->shape,
        [&](te::Indices i) {
          const Expr* given = load(wanted, i[0]);
          const Expr* open = ir::compare(ctx, ir::BinaryKind::EQ, given, ctx.i64(-1));
          // The product of all includes the -1.
          const Expr* divisor = ctx.select(open, ir::sub(ctx, ctx.i64(0), load(others, ctx.i64(0))), ctx.i64(1));
          const Expr* left = ir::div(ctx, load(all, ctx.i64(0)), divisor);
          return ir::cast_to(ctx, wanted->dtype, ctx.select(open, left, given));
        },
        "T_shape");
    // The number of elements in one step along each axis.
    const auto strides = [&](te::Tensor shape, std::string_view name) {
      const ir::IterVar k[] = {te.graph.reduce_axis(shape->shape[0])};
      return te.graph.reduce(
          shape->shape,
          [&](te::Indices i) {
            return ctx.select(ir::compare(ctx, ir::BinaryKind::GT, k[0].var, i[0]), load(shape, k[0].var), ctx.i64(1));
          },
          k, te.graph.prod_reducer(kWide), name);
    };
    const te::Tensor old_steps = strides(from, "T_from"), new_steps = strides(to, "T_to");
    const ir::IterVar k[] = {te.graph.reduce_axis(at->shape[1])};
    const te::Tensor flat = te.graph.reduce(
        Dims{at->shape[0]},
        [&](te::Indices i) {
          return ir::mul(ctx, ir::cast_to(ctx, kWide, te.graph.load(at, {i[0], k[0].var})), load(old_steps, k[0].var));
        },
        k, te.graph.sum_reducer(kWide), "T_flat");
    const te::Tensor moved = te.graph.compute(
        Dims{at->shape[0], wanted->shape[0]},
        [&](te::Indices i) {
          const Expr* steps = ir::div(ctx, te.graph.load(flat, {i[0]}), load(new_steps, i[1]));
          return ir::cast_to(ctx, at->dtype, ir::floor_mod(ctx, steps, load(to, i[1])));
        },
        "T_places");
    return {moved, to};
  });
}

}  // namespace rldb::to_relax::translations
