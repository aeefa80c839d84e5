// Rows that the steps of a loop stack.
#include "onnx/ops/rows.h"

#include <fmt/format.h>

#include "onnx/ops/chain.h"
#include "onnx/ops/repeat.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/index.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_attr/index_attr.h"

namespace rldb::onnx::bodies {

namespace {

using Buffers = std::span<const ir::Buffer* const>;

// rows[step, ...] = row[...]
const ir::Stmt* put_row(ir::Context& ctx, const ir::Buffer* row, const ir::Buffer* step, const ir::Buffer* rows) {
  Exprs at{ctx.load(step, Exprs())}, from;
  std::vector<const ir::Var*> loops;
  for (std::size_t k = 0; k < row->shape.size(); ++k) {
    loops.push_back(ctx.var(fmt::format("i{}", k), ctx.int64()));
    from.push_back(loops.back());
    at.push_back(loops.back());
  }
  const ir::Stmt* made = ctx.store(rows, ctx.load(row, from), at);
  for (std::size_t k = loops.size(); k-- > 0;)
    made = ctx.for_stmt(loops[k], ctx.i64(0), row->shape[k], ir::ForKind::Serial, made);
  return made;
}

}  // namespace

Made with_place(NodeContext& c, const Expr* rows, const Expr* step) {
  RLDB_TRY(const ir::TensorType* type, c.tensor_of(rows));
  const Expr* extent = type->shape[0];
  RLDB_TRY(const Expr* end, c.tensor_from({DType::Int(64), 0, {extent}}));
  RLDB_TRY(const Expr* fits, c.emit(op::Less, {step, end}));
  RLDB_TRY(const ir::SeqExpr* same, branch(c, [&] { return Made(c.blocks.emit(rows, "gv")); }));
  RLDB_TRY(const ir::SeqExpr* longer, branch(c, [&] {
             Chain m(c);
             Dims more(type->shape.begin(), type->shape.end());
             more[0] = ir::max(c.ctx, extent, c.i64(1));
             return m.done(m.join({rows, m.full(more, type->dtype, 0)}, 0));
           }));
  const ir::Type* open = c.ctx.tensor_ndim(int(type->shape.size()), type->dtype);
  const Expr* chosen = c.blocks.emit(c.ctx.if_expr(fits, same, longer, open), "gv");
  Dims dims(type->shape.begin(), type->shape.end());
  dims[0] = c.ctx.var(c.blocks.unique_name("rows"), c.ctx.int64());
  return static_cast<const Expr*>(c.blocks.emit_match_cast(chosen, c.ctx.tensor(dims, type->dtype)));
}

Made with_row(NodeContext& c, const Expr* rows, const Expr* row, const Expr* step) {
  RLDB_TRY(const ir::TensorType* type, c.tensor_of(rows));
  const Expr* operands[] = {row, step};
  // The kernel as if it filled new memory; then it is given that of the rows.
  RLDB_TRY(const Expr* fresh, c.kernels.call_te("onnx_put_row", operands, nullptr, [&](Te& te) {
    Dims dims{te.map(type->shape[0])};
    for (const Expr* d : te.in[0]->shape) dims.push_back(d);
    const te::Graph::OutputSpec outputs[] = {{te.ctx.list(dims), type->dtype}};
    const auto write = [&ctx = te.ctx](Buffers in, Buffers out) { return put_row(ctx, in[0], in[1], out[0]); };
    return te.graph.extern_op(outputs, te.in, write, "onnx_put_row");
  }));
  const auto* call = ir::as<ir::Call>(fresh);
  const auto* given = ir::as<ir::Tuple>(call->args[1]);
  Exprs all(given->items.begin(), given->items.end());
  const Ints last{std::int64_t(all.size())};
  all.push_back(rows);
  RLDB_TRY(const ir::Call* made, c.ctx.call(op::CallTirInplace, {call->args[0], c.ctx.tuple(all)},
                                            {c.ctx.named(op_attr::InplaceIndices, c.ctx.attr_ints(last))}, {type}));
  return c.bind(made);
}

Made first_rows(NodeContext& c, const Expr* rows, const Expr* count) {
  RLDB_TRY(const Expr* one, c.reshape(count, {c.i64(1)}));
  RLDB_TRY(const Dims end, c.dims_of_values(one, 1));
  const Expr *axes[] = {c.i64(0)}, *begins[] = {c.i64(0)}, *ends[] = {end[0]}, *steps[] = {c.i64(1)};
  return c.emit(op::StridedSlice, {rows, c.ctx.tuple(axes), c.ctx.tuple(begins), c.ctx.tuple(ends), c.ctx.tuple(steps)},
                {{op_attr::AssumeInbound, c.ctx.attr(true)}});
}

}  // namespace rldb::onnx::bodies
