// Walks, free variables, substitution and the rewriter.
#include <doctest/doctest.h>

#include <chrono>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {
namespace {

struct Fixture {
  Context ctx;
  const DType f32 = DType::Float(32);
  const Var* n = ctx.var("n", ctx.int64());
  const Var* m = ctx.var("m", ctx.int64());
  const Type* tensor(std::vector<const Expr*> dims) { return ctx.tensor(dims, f32); }
  const Call* call(std::string_view op, std::vector<const Expr*> args, const Type* type) {
    return ctx.call_typed(ctx.op(op), args, type);
  }
  // x: Tensor((n,)) -> `length` relus
  const Function* chain(int length) {
    const Type* t = tensor({n});
    const Var* x = ctx.var("x", t);
    std::vector<const Binding*> bindings;
    const Var* last = x;
    for (int i = 0; i < length; ++i) {
      const Var* v = ctx.var("lv", t);
      bindings.push_back(ctx.binding(v, call("relax.nn.relu", {last}, t)));
      last = v;
    }
    const BindingBlock* blocks[] = {ctx.block(bindings)};
    const Var* params[] = {x};
    return ctx.function(params, ctx.seq(blocks, last), t, true, {});
  }
};

class RenameOp : public Rewriter {
 public:
  using Rewriter::Rewriter;
  int seen = 0;
  const Expr* visit_call(const Call* c) override {
    ++seen;
    const auto* made = cast<Call>(Rewriter::visit_call(c));
    if (made->callee != ctx_.op("relax.nn.relu")) return made;
    return ctx_.call_typed(ctx_.op("relax.nn.gelu"), made->args, made->type);
  }
};

TEST_CASE_FIXTURE(Fixture, "walk: parents first, in order; free variables") {
  const Function* f = chain(2);
  std::vector<NodeKind> kinds;
  walk(f, [&](const Node* node) {
    kinds.push_back(node->kind);
    return true;
  });
  CHECK(kinds[0] == NodeKind::Function);
  CHECK(kinds[1] == NodeKind::SeqExpr);
  CHECK(kinds[2] == NodeKind::BindingBlock);
  CHECK(kinds[3] == NodeKind::VarBinding);
  CHECK(kinds[4] == NodeKind::Call);
  CHECK(free_vars(f).empty());
  CHECK(free_vars(f->body).size() == 2);  // x, and n in the types
  const Expr* e = ctx.binary(BinaryKind::Add, n, m);
  CHECK(free_vars(e) == std::vector<const Var*>{n, m});
  const Expr* index[] = {n};
  const Buffer* b = ctx.buffer("A", std::vector<const Expr*>{m}, f32);
  const Stmt* loop = ctx.for_stmt(n, ctx.i64(0), m, ForKind::Serial, ctx.store(b, ctx.float_imm(f32, 0), index));
  const auto free = free_vars(loop);
  CHECK(std::find(free.begin(), free.end(), n) == free.end());
  CHECK(std::find(free.begin(), free.end(), m) != free.end());
  CHECK(std::find(free.begin(), free.end(), b->data) != free.end());
}

TEST_CASE_FIXTURE(Fixture, "substitute: expressions, types, statements") {
  const VarMap map{{n, ctx.i64(4)}};
  const Expr* e = ctx.binary(BinaryKind::Add, ctx.binary(BinaryKind::Mul, n, ctx.i64(2)), m);
  const auto* made = as<BinaryExpr>(substitute(ctx, e, map));
  REQUIRE(made);
  CHECK(is_const(made->a, 8));
  CHECK(substitute(ctx, e, VarMap{}) == e);
  CHECK(substitute(ctx, static_cast<const Expr*>(m), map) == m);
  CHECK(substitute(ctx, tensor({n, m}), map) == tensor({ctx.i64(4), m}));
  const Type* fields[] = {tensor({n}), ctx.shape_type(std::vector<const Expr*>{n})};
  const Type* to[] = {tensor({ctx.i64(4)}), ctx.shape_type(std::vector<const Expr*>{ctx.i64(4)})};
  CHECK(substitute(ctx, static_cast<const Type*>(ctx.tuple_type(fields)), map) == ctx.tuple_type(to));
  const Buffer* b = ctx.buffer("A", std::vector<const Expr*>{n}, f32);
  const Expr* index[] = {m};
  const Stmt* body[] = {ctx.store(b, ctx.float_imm(f32, 0), index), ctx.store(b, ctx.float_imm(f32, 1), index)};
  const auto* seq = as<SeqStmt>(substitute(ctx, ctx.seq_stmt(body), map));
  REQUIRE(seq);
  const auto *first = as<BufferStore>(seq->stmts[0]), *second = as<BufferStore>(seq->stmts[1]);
  CHECK(first->buffer != b);
  CHECK(first->buffer == second->buffer);
  CHECK(is_const(first->buffer->shape[0], 4));
}

TEST_CASE_FIXTURE(Fixture, "rewriter: shares what did not change, remembers where things come from") {
  const Function* f = chain(3);
  Rewriter nothing(ctx);
  CHECK(nothing.rewrite_function(f) == f);
  ctx.spans().set(f->body->blocks[0]->bindings[1], source::Span{source::FileId{1}, 10, 20});
  RenameOp rename(ctx);
  const Function* g = rename.rewrite_function(f);
  CHECK(rename.seen == 3);
  REQUIRE(g != f);
  const Binding* binding = g->body->blocks[0]->bindings[1];
  CHECK(cast<Call>(binding->value)->callee == ctx.op("relax.nn.gelu"));
  CHECK(binding->var == f->body->blocks[0]->bindings[1]->var);
  CHECK(ctx.span_of(binding).begin == 10);
  CHECK(ctx.origins().get(binding)[0] == f->body->blocks[0]->bindings[1]->id);
  CHECK(ctx.origins().get(binding->value)[0] == f->body->blocks[0]->bindings[1]->value->id);
}

TEST_CASE_FIXTURE(Fixture, "rewriter: variables of a new type are made again") {
  struct Static : Rewriter {
    Static(Context& c, const Var* v) : Rewriter(c) { remap(v, c.i64(16)); }
  };
  const Function* f = chain(2);
  const Function* g = Static(ctx, n).rewrite_function(f);
  REQUIRE(g != f);
  CHECK(g->ret_type == tensor({ctx.i64(16)}));
  CHECK(g->params[0]->type == tensor({ctx.i64(16)}));
  const auto bindings = g->body->blocks[0]->bindings;
  CHECK(cast<Call>(bindings[0]->value)->args[0] == g->params[0]);
  CHECK(cast<Call>(bindings[1]->value)->args[0] == bindings[0]->var);
  CHECK(bindings[1]->var->type == tensor({ctx.i64(16)}));
  CHECK(free_vars(g).empty());
}

TEST_CASE_FIXTURE(Fixture, "rewriter: bindings and statements can go") {
  struct Drop : Rewriter {
    using Rewriter::Rewriter;
    std::vector<const Binding*> visit_binding(const Binding* b) override {
      const auto* c = as<Call>(b->value);
      remap(b->var, lookup(cast<Var>(c->args[0])));
      return {};
    }
  };
  const Function* f = Drop(ctx).rewrite_function(chain(3));
  CHECK(f->body->blocks.empty());
  CHECK(f->body->body == f->params[0]);
  struct DropEvaluate : Rewriter {
    using Rewriter::Rewriter;
    const Stmt* visit_stmt(const Stmt* s) override { return isa<Evaluate>(s) ? nullptr : default_stmt(s); }
  };
  const Stmt* stmts[] = {ctx.evaluate(n), ctx.bind(m, n), ctx.evaluate(m)};
  CHECK(DropEvaluate(ctx).rewrite(ctx.seq_stmt(stmts)) == stmts[1]);
}

TEST_CASE_FIXTURE(Fixture, "rewriter: long chains of operators") {
  const Expr* e = n;
  for (int i = 0; i < 20000; ++i) e = ctx.binary(i % 3 ? BinaryKind::Add : BinaryKind::Mul, e, m);
  const Expr* made = substitute(ctx, e, VarMap{{n, m}});
  CHECK(made != e);
  CHECK(free_vars(made) == std::vector<const Var*>{m});
  CHECK(substitute(ctx, made, VarMap{{n, m}}) == made);
  CHECK(expr_equal(substitute(ctx, e, VarMap{{n, m}}), made));
}

TEST_CASE_FIXTURE(Fixture, "ir: a hundred thousand bindings") {
  const int length = 100000;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto t0 = now();
  const Function* a = chain(length);
  const Function* b = chain(length);
  const auto t1 = now();
  CHECK(structural_equal(a, b));
  CHECK(structural_hash(a) == structural_hash(b));
  const auto t2 = now();
  RenameOp rename(ctx);
  CHECK(rename.rewrite_function(a) != a);
  const auto t3 = now();
  const auto ms = [](auto from, auto to) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
  };
  MESSAGE("build two " << ms(t0, t1) << " ms, equal and hash two " << ms(t1, t2) << " ms, rewrite " << ms(t2, t3)
                       << " ms");
}

}  // namespace
}  // namespace rldb::ir
