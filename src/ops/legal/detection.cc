// Legalisation: boxes counted, and decoded from anchors.
#include "ops/legal/boxes.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/vision_attr.h"

namespace rldb::ops::legal {

using namespace boxes;
using ir::Stmt;

Result<const Expr*> get_valid_counts(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  const double threshold = attr_float(spec(c), op_attr::ScoreThreshold);
  const std::int64_t id = attr_int(spec(c), op_attr::IdIndex);
  const std::int64_t score = attr_int(spec(c), op_attr::ScoreIndex);
  return l.call_te("get_valid_counts", c->args, c->type, [&](Te& te) -> Tensors {
    const Tensor data = te.in[0];
    const DType i32 = DType::Int(32);
    const te::Graph::OutputSpec outputs[] = {{te.ctx.list(ExprList{data->shape[0]}), i32},
                                             {data->shape, x->dtype},
                                             {te.ctx.list(ExprList{data->shape[0], data->shape[1]}), i32}};
    const auto write = [&te, threshold, id, score](Buffers in, Buffers out) -> const Stmt* {
      ir::Context& ctx = te.ctx;
      Writer w(ctx);
      const ir::Buffer *boxes = in[0], *count = out[0], *kept = out[1], *indices = out[2];
      const DType t = boxes->dtype;
      return w.loop(
          "i", boxes->shape[0],
          [&](const Expr* i) -> const Stmt* {
            const Stmt* keep = w.loop("j", boxes->shape[1], [&](const Expr* j) -> const Stmt* {
              const Expr* to = w.load(count, {i});
              const Expr* good = gt(ctx, w.load(boxes, {i, j, ctx.i64(score)}), number(ctx, t, threshold));
              if (id >= 0) good = both(ctx, good, ge(ctx, w.load(boxes, {i, j, ctx.i64(id)}), number(ctx, t, 0)));
              const Stmt* copy = w.loop("k", boxes->shape[2], [&](const Expr* k) -> const Stmt* {
                return w.store(kept, w.load(boxes, {i, j, k}), {i, to, k});
              });
              return w.when(good, w.seq({copy, w.store(indices, j, {i, to}),
                                         w.store(count, ir::add(ctx, w.load(count, {i}), ctx.i32(1)), {i})}));
            });
            const Stmt* rest = w.loop("j", boxes->shape[1], [&](const Expr* j) -> const Stmt* {
              const Stmt* clear = w.loop("k", boxes->shape[2], [&](const Expr* k) -> const Stmt* {
                return w.store(kept, ctx.cast(t, number(ctx, t, kSuppressed)), {i, j, k});
              });
              return w.when(ge(ctx, j, ir::cast_to(ctx, DType::Int(64), w.load(count, {i}))),
                            w.seq({clear, w.store(indices, ctx.i32(-1), {i, j})}));
            });
            return w.seq({w.store(count, ctx.i32(0), {i}), keep, rest});
          },
          ir::ForKind::Parallel);
    };
    return te.graph.extern_op(outputs, te.in, write, "get_valid_counts");
  });
}

// Boxes from how far they are from their anchors, and the scores of those that are likely.
Result<const Expr*> multibox_transform_loc(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* cls, known_arg(c, 0));
  RLDB_TRY_VOID(known_arg(c, 1));
  RLDB_TRY_VOID(known_arg(c, 2));
  const auto variances = attr_floats(spec(c), op_attr::Variances);
  if (variances.size() != 4) return refuse(c, "there are not four variances");
  const bool clip = attr_bool(spec(c), op_attr::Clip);
  const double threshold = attr_float(spec(c), op_attr::Threshold);
  const bool background = attr_bool(spec(c), op_attr::KeepBackground);
  return l.call_te("multibox_transform_loc", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    ir::Context& ctx = te.ctx;
    const Tensor scores = te.in[0], anchor = te.in[2];
    const DType d = cls->dtype;
    const Expr *batch = scores->shape[0], *n = scores->shape[2];
    const Tensor loc = t.reshape(te.in[1], {batch, n, ctx.i64(4)});
    const auto lit = [&](double v) { return t.lit(d, v); };
    const Tensor boxes = te.graph.compute(
        ExprList{batch, n, ctx.i64(4)},
        [&](Indices i) -> const Expr* {
          const auto at = [&](int k) { return te.graph.load(anchor, {t.i64(0), i[1], t.i64(k)}); };
          const auto moved = [&](int k) {
            return ir::mul(ctx, te.graph.load(loc, {i[0], i[1], t.i64(k)}), lit(variances[std::size_t(k)]));
          };
          // Side `side` (-1 low, 1 high) along x (0) or y (1).
          const auto corner = [&](int axis, int side) -> const Expr* {
            const Expr* size = ir::sub(ctx, at(axis + 2), at(axis));
            const Expr* middle = ir::mul(ctx, ir::add(ctx, at(axis), at(axis + 2)), lit(0.5));
            const Expr* centre = ir::add(ctx, ir::mul(ctx, moved(axis), size), middle);
            const Expr* half = ir::mul(ctx, ir::mul(ctx, lit(0.5), t.intrin(ir::intrin::Exp, moved(axis + 2))), size);
            const Expr* e = side < 0 ? ir::sub(ctx, centre, half) : ir::add(ctx, centre, half);
            return clip ? ir::max(ctx, lit(0), ir::min(ctx, lit(1), e)) : e;
          };
          const auto is = [&](int k) { return t.eq(i[2], t.i64(k)); };
          return ctx.select(is(0), corner(1, -1),
                            ctx.select(is(1), corner(0, -1), ctx.select(is(2), corner(1, 1), corner(0, 1))));
        },
        "multibox_boxes");
    const Tensor likely = softmax_of(t, scores, 1, false);
    const Tensor over = te.graph.compute(
        scores->shape, [&](Indices i) { return t.le(lit(threshold), te.graph.load(likely, i)); }, "T_greater_equal");
    const Tensor kept = t.multiply(likely, t.cast(over, d, "compute"));
    if (background) return {boxes, kept};
    const Tensor result = te.graph.compute(
        scores->shape, [&](Indices i) { return t.if_else(t.eq(i[1], t.i64(0)), lit(0), te.graph.load(kept, i)); },
        "multibox_scores_bg");
    return {boxes, result};
  });
}

}  // namespace rldb::ops::legal
