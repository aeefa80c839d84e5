// CombineContextCall: calls of T.tvm_context_id with the same arguments are made once, at the start of the function or
// of the parallel loop or kernel around them.
#include <fmt/format.h>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Combine : public Rewriter {
 public:
  using Rewriter::Rewriter;

  const Stmt* scope(const Stmt* body) {
    std::vector<std::pair<const Call*, const Var*>> outer;
    outer.swap(calls_);
    std::vector<const Stmt*> out;
    const Stmt* made = rewrite(body);
    if (!made) made = no_op(ctx_);
    for (const auto& [call, var] : calls_) out.push_back(ctx_.bind(var, call));
    calls_.swap(outer);
    out.push_back(made);
    return out.size() == 1 ? made : ctx_.seq_stmt(out);
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_call(const Call* c) override {
    const Expr* made = default_expr(c);
    if (!is_call_of(made, intrin::TvmContextId)) return made;
    for (const auto& [call, var] : calls_)
      if (expr_equal(call, made)) return var;
    const Var* var = ctx_.var(fmt::format("ctx_cache_{}", ++count_), made->type);
    ctx_.set_origin(var, c);
    calls_.emplace_back(as<Call>(made), var);
    return var;
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* f = as<ForStmt>(s);
    if (f && f->for_kind == ForKind::Parallel)
      return ctx_.for_stmt(f->var, rewrite(f->min), rewrite(f->extent), f->for_kind, scope(f->body), f->annotations,
                           f->thread_tag, f->step);
    const auto* a = as<AttrStmt>(s);
    if (a && a->key == kThreadExtent)
      return ctx_.attr_stmt(a->node, a->key, rewrite(a->value), scope(a->body), a->thread_var);
    return default_stmt(s);
  }

 private:
  std::vector<std::pair<const Call*, const Var*>> calls_;
  int count_ = 0;
};

bool has_context_calls(const Stmt* body) {
  bool found = false;
  walk(body, [&](const Node* n) {
    const auto* e = as<Expr>(n);
    found = found || (e && is_call_of(e, intrin::TvmContextId));
    return !found;
  });
  return found;
}

}  // namespace

Result<const Module*> combine_context_call(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return has_context_calls(f->body) ? with_body(env.ctx, f, Combine(env.ctx).scope(f->body)) : f;
  });
}

}  // namespace rldb::passes
