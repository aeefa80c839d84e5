#include "ops/legal/scatter.h"

namespace rldb::ops::legal {

using ir::Stmt;

const Expr* wrap(ir::Context& ctx, const Expr* index, const Expr* extent) {
  index = ir::cast_to(ctx, DType::Int(64), index);
  const Expr* negative = ir::compare(ctx, ir::BinaryKind::LT, index, ctx.i64(0));
  return ir::add(ctx, index, ir::mul(ctx, ctx.cast(DType::Int(64), negative), extent));
}

const Expr* combine(ir::Context& ctx, std::string_view how, const Expr* old_value, const Expr* update) {
  // One update after the other, as in TVM: if several write to one place, the last one weighs most.
  if (how == "mean")
    return ir::div(ctx, ctx.binary(ir::BinaryKind::Add, old_value, update), ctx.literal(old_value->dtype(), 2));
  if (how == "add") return ctx.binary(ir::BinaryKind::Add, old_value, update);
  if (how == "mul") return ctx.binary(ir::BinaryKind::Mul, old_value, update);
  if (how == "max") return ctx.binary(ir::BinaryKind::Max, old_value, update);
  if (how == "min") return ctx.binary(ir::BinaryKind::Min, old_value, update);
  return update;
}

Result<const Expr*> scatter(Legalizer& l, const ir::Call* c, std::string_view name, std::span<const Expr* const> args,
                            const Update& update) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te(name, args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    te::Graph::OutputSpec outputs[] = {{ctx.list(mapped(te, out->shape)), out->dtype}};
    auto write = [&ctx, update](std::span<const ir::Buffer* const> in,
                                std::span<const ir::Buffer* const> outs) -> const Stmt* {
      Writer w(ctx);
      const auto copied = [&](const Expr* i) -> const Stmt* {
        const ExprList at = unravel(ctx, i, outs[0]->shape);
        return ctx.store(outs[0], ctx.load(in[0], at), at);
      };
      const Stmt* copy = w.loop("i", ir::product(ctx, outs[0]->shape), copied, ir::ForKind::Parallel);
      return w.in_order(w.seq({copy, update(ctx, in, outs[0])}));
    };
    return te.graph.extern_op(outputs, te.in, write, std::string(name) + "_generic", kOpenInputs);
  });
}

}  // namespace rldb::ops::legal
