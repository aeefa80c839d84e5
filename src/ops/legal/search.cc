// Legalisation: searches in sorted values.
#include "ops/legal/statements.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/order_attr.h"

namespace rldb::ops::legal {

using ir::Stmt;

// For each element the number of boundaries that are below it (`right`: not above it). The range that may hold the
// place is halved until it is empty.
Result<const Expr*> bucketize(Legalizer& l, const ir::Call* c) {
  RLDB_TRY_VOID(known_arg(c, 0));
  RLDB_TRY_VOID(known_arg(c, 1));
  RLDB_TRY(const TensorType* out, known_result(c));
  const auto kind = attr_bool(spec(c), op_attr::Right) ? ir::BinaryKind::LE : ir::BinaryKind::LT;
  const Expr* args[] = {c->args[1], c->args[0]};
  return l.call_te("searchsorted", args, c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    const te::Graph::OutputSpec outputs[] = {{te.in[1]->shape, out->dtype}};
    const auto write = [&ctx, kind, t = out->dtype](Buffers in, Buffers outs) -> const Stmt* {
      Writer w(ctx);
      const auto search = [&](const Expr* i) -> const Stmt* {
        const ExprList at = unravel(ctx, i, in[1]->shape);
        const ir::Buffer *low = w.cell("lo", t), *high = w.cell("hi", t);
        const Expr* left = ir::sub(ctx, w.get(high), w.get(low));
        const Expr* half = ctx.intrin(t, ir::intrin::ShiftRight, {left, ctx.literal(t, 1)});
        const Expr* middle = ir::add(ctx, w.get(low), half);
        const Expr* before = ir::compare(ctx, kind, w.load(in[0], {middle}), ctx.load(in[1], at));
        const Stmt* step = w.when(before, w.set(low, ir::add(ctx, middle, ctx.literal(t, 1))), w.set(high, middle));
        const Expr* open = ir::compare(ctx, ir::BinaryKind::LT, w.get(low), w.get(high));
        return w.seq({w.declare(low), w.declare(high), w.set(low, ctx.literal(t, 0)), w.set(high, in[0]->shape[0]),
                      ctx.while_stmt(open, step), ctx.store(outs[0], w.get(low), at)});
      };
      return w.loop("i", ir::product(ctx, in[1]->shape), search, ir::ForKind::Parallel);
    };
    return te.graph.extern_op(outputs, te.in, write, "searchsorted", kOpenInputs);
  });
}

}  // namespace rldb::ops::legal
