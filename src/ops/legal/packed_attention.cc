// Legalisation: attention over sequences that are packed one after another.
#include "ops/layout.h"
#include "ops/legal/statements.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/op_attr/nn_attr.h"

namespace rldb::ops::legal {

using ir::BinaryKind;
using ir::Stmt;

namespace {

struct PackedAttention {
  Writer& w;
  ir::Context& ctx;
  const ir::Buffer *q, *k, *v, *starts_q, *starts_k, *out, *scores;
  const Expr* scale;
  std::string_view causal;  // empty: none
  std::int64_t window;      // 0: none
  const Expr *sequence, *head;

  const Expr* wide(const Expr* e) const { return ir::cast_to(ctx, DType::Int(64), e); }
  const Expr* start(const ir::Buffer* of, int ahead) const {
    return wide(w.load(of, {ir::add(ctx, sequence, ctx.i64(ahead))}));
  }
  const Expr* length(const ir::Buffer* of) const { return ir::sub(ctx, start(of, 1), start(of, 0)); }
  // The head of keys or values that this head of queries shares.
  const Expr* head_of(const ir::Buffer* b) const {
    return ir::floor_div(ctx, ir::mul(ctx, head, b->shape[2]), q->shape[2]);
  }
  // Whether query `i` may see key `j`. Null: always.
  const Expr* visible(const Expr* i, const Expr* j) const {
    if (causal.empty()) return nullptr;
    const Expr* diagonal = i;
    if (causal == "BottomRight") diagonal = ir::add(ctx, i, ir::sub(ctx, length(starts_k), length(starts_q)));
    const Expr* seen = ir::compare(ctx, BinaryKind::LE, j, diagonal);
    if (window == 0) return seen;
    return ir::logical_and(ctx, seen, ir::compare(ctx, BinaryKind::LT, ir::sub(ctx, diagonal, ctx.i64(window)), j));
  }
  const Stmt* for_visible(const Expr* i, const std::function<const Stmt*(const Expr* j)>& body) const {
    return w.loop("j", length(starts_k), [&](const Expr* j) -> const Stmt* {
      const Expr* seen = visible(i, j);
      return seen ? w.when(seen, body(j)) : body(j);
    });
  }

  const Stmt* query(const Expr* i) const {
    const DType d = q->dtype;
    const Expr* zero = ctx.i64(0);
    const ir::Buffer *top = w.cell("top", d), *total = w.cell("total", d), *sum = w.cell("sum", d);
    const Expr* row = ir::add(ctx, start(starts_q, 0), i);
    const auto key_row = [&](const Expr* j) { return ir::add(ctx, start(starts_k, 0), j); };
    const Stmt* score = for_visible(i, [&](const Expr* j) -> const Stmt* {
      const Stmt* product = w.loop("x", q->shape[3], [&](const Expr* x) -> const Stmt* {
        const Expr* part = ir::mul(ctx, w.load(q, {zero, row, head, x}), w.load(k, {zero, key_row(j), head_of(k), x}));
        return w.set(sum, ir::add(ctx, w.get(sum), part));
      });
      return w.seq({w.set(sum, ctx.literal(d, 0)), product, w.store(scores, ir::mul(ctx, w.get(sum), scale), {j}),
                    w.set(top, ir::max(ctx, w.get(top), w.load(scores, {j})))});
    });
    const Stmt* weigh = for_visible(i, [&](const Expr* j) -> const Stmt* {
      const Expr* power = ctx.intrin(d, ir::intrin::Exp, {ir::sub(ctx, w.load(scores, {j}), w.get(top))});
      return w.seq({w.store(scores, power, {j}), w.set(total, ir::add(ctx, w.get(total), w.load(scores, {j})))});
    });
    const Stmt* mix = w.loop("x", v->shape[3], [&](const Expr* x) -> const Stmt* {
      const Stmt* add = for_visible(i, [&](const Expr* j) -> const Stmt* {
        const Expr* part = ir::mul(ctx, w.load(scores, {j}), w.load(v, {zero, key_row(j), head_of(v), x}));
        return w.set(sum, ir::add(ctx, w.get(sum), part));
      });
      // A query that sees nothing gives 0.
      const Expr* none = ir::compare(ctx, BinaryKind::EQ, w.get(total), ctx.literal(d, 0));
      const Expr* mean = ir::div(ctx, w.get(sum), ctx.select(none, ctx.literal(d, 1), w.get(total)));
      return w.seq({w.set(sum, ctx.literal(d, 0)), add, w.store(out, mean, {zero, row, head, x})});
    });
    return w.seq({w.declare(top), w.declare(total), w.declare(sum), w.set(top, ir::min_value(ctx, d)),
                  w.set(total, ctx.literal(d, 0)), score, weigh, mix});
  }
};

}  // namespace

Result<const Expr*> attention_var_len(Legalizer& l, const ir::Call* c) {
  for (std::size_t i = 0; i < 5; ++i) RLDB_TRY_VOID(known_arg(c, i));
  RLDB_TRY(const TensorType* out, known_result(c));
  const TensorType *q = tensor_type(c->args[0]), *k = tensor_type(c->args[1]), *v = tensor_type(c->args[2]);
  if (!q->dtype.is_float() || k->dtype != q->dtype || v->dtype != q->dtype)
    return refuse(c, "its operands are not floats of one dtype");
  if (different_dim(l.context(), q->shape[0], l.context().i64(1)))
    return refuse(c, "the sequences must be concatenated in a batch of 1");
  for (std::size_t i = 3; i < 5; ++i) {
    const TensorType* starts = tensor_type(c->args[i]);
    if (starts->ndim != 1 || !starts->dtype.is_int())
      return refuse(c, "the starts of the sequences are not a vector of integers");
  }
  const bool windowed = !attr_is_none(spec(c), op_attr::WindowSize);
  const std::int64_t window = windowed ? attr_int(spec(c), op_attr::WindowSize) : 0;
  const std::string_view causal =
      attr_is_none(spec(c), op_attr::CausalMask) ? std::string_view() : attr_string(spec(c), op_attr::CausalMask);
  if (windowed && (causal.empty() || window < 1))
    return refuse(c, "a window is of at least one key, and has a causal mask");
  const ir::Attr* given = ir::find_attr(c->attrs, op_attr::Scale);
  return l.call_te("attention_var_len", c->args.first(5), c->type, [&](Te& te) -> Tensors {
    ir::Context& ctx = te.ctx;
    const DType d = q->dtype;
    const Expr* scale = nullptr;
    if (const auto s = float_of(given); s && !given->is(ir::AttrKind::None))
      scale = ctx.literal(d, *s);
    else
      scale =
          ir::div(ctx, ctx.literal(d, 1), ctx.intrin(d, ir::intrin::Sqrt, {ir::cast_to(ctx, d, te.in[0]->shape[3])}));
    const te::Graph::OutputSpec outputs[] = {{ctx.list(mapped(te, out->shape)), d},
                                             {ctx.list(ExprList{te.in[1]->shape[1]}), d}};
    const auto write = [&te, scale, causal, window](Buffers in, Buffers outs) -> const Stmt* {
      ir::Context& ctx = te.ctx;
      Writer w(ctx);
      const Stmt* clear = nest(ctx, outs[0]->shape, [&](const ExprList& i) -> const Stmt* {
        return ctx.store(outs[0], ctx.literal(outs[0]->dtype, 0), i);
      });
      const Expr* sequences = ir::sub(ctx, in[3]->shape[0], ctx.i64(1));
      const Stmt* all = w.loop("s", sequences, [&](const Expr* s) -> const Stmt* {
        return w.loop("h", in[0]->shape[2], [&](const Expr* h) -> const Stmt* {
          const PackedAttention a{w,       ctx,     in[0], in[1],  in[2],  in[3], in[4],
                                  outs[0], outs[1], scale, causal, window, s,     h};
          return w.loop("i", a.length(in[3]), [&](const Expr* i) { return a.query(i); });
        });
      });
      return w.seq({clear, all});
    };
    Tensors made = te.graph.extern_op(outputs, te.in, write, "attention_var_len");
    return {made[0]};
  });
}

}  // namespace rldb::ops::legal
