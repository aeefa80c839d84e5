// RemoveNoOp, and the passes that end with it: RemoveAssume (assumptions are for the passes before) and
// RemoveStoreUndef (a store of T.undef() means that any value will do).
//
// A statement that does nothing is left out: a pure expression that is evaluated, a loop or a branch around nothing, a
// loop that never runs, a store of the value already there, an allocation that nothing names.
#include <algorithm>
#include <memory>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::size_t kMostFacts = 64;  // beyond this many a condition is not used

class NoOps : public Rewriter {
 public:
  explicit NoOps(Context& ctx) : Rewriter(ctx), analyzer_(std::make_unique<Analyzer>(ctx)) {}

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override { return e; }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* i = as<IfThenElse>(s)) return branch(i);
    if (const auto* b = as<BufferStore>(s)) return store(b);
    const Stmt* made = default_stmt(s);
    if (const auto* seq = as<SeqStmt>(made)) return without_unused(seq);
    if (const auto* e = as<Evaluate>(made)) return has_no_effect(e->value) ? nullptr : made;
    if (const auto* a = as<AttrStmt>(made))
      return is_no_op(a->body) && has_no_effect(a->value) && a->key != "debug_skip_region" ? nullptr : made;
    return made;
  }

 private:
  // Allocations that no statement of the sequence names are left out.
  const Stmt* without_unused(const SeqStmt* seq) {
    const auto allocated = [](const Stmt* s) { return isa<AllocBuffer>(s) ? cast<AllocBuffer>(s)->buffer : nullptr; };
    if (std::none_of(seq->stmts.begin(), seq->stmts.end(), allocated)) return seq;
    std::unordered_set<const Var*> used;
    for (const Stmt* s : seq->stmts) {
      if (allocated(s)) continue;
      walk(s, [&](const Node* n) {
        if (const auto* l = as<BufferLoad>(n)) used.insert(l->buffer->data);
        if (const auto* st = as<BufferStore>(n)) used.insert(st->buffer->data);
        if (const auto* v = as<Var>(n)) used.insert(v);
        if (const auto* b = as<SBlock>(n)) {
          for (const BufferRegion& r : b->reads) used.insert(r.buffer->data);
          for (const BufferRegion& r : b->writes) used.insert(r.buffer->data);
          for (const MatchBufferRegion& m : b->match_buffers) used.insert(m.source.buffer->data);
        }
        return true;
      });
    }
    std::vector<const Stmt*> kept;
    for (const Stmt* s : seq->stmts)
      if (const Buffer* b = allocated(s); !b || used.contains(b->data)) kept.push_back(s);
    if (kept.size() == seq->stmts.size()) return seq;
    return kept.empty() ? nullptr : ctx_.seq_stmt(kept);
  }

  const Stmt* loop(const ForStmt* f) {
    loops_.push_back(f);
    analyzer_->bind_range(f->var, {f->min, f->extent});
    if (const Bounds b = analyzer_->bounds(f->extent); b.max && *b.max <= 0 && has_no_effect(f->extent)) {
      loops_.pop_back();
      return nullptr;
    }
    const Stmt* made = default_stmt(f);
    loops_.pop_back();
    analyzer_->end_range(f->var);
    const auto* after = as<ForStmt>(made);
    if (!after || !is_no_op(after->body)) return made;
    return has_no_effect(f->min) && has_no_effect(f->extent) ? nullptr : effects({f->min, f->extent});
  }

  const Stmt* branch(const IfThenElse* i) {
    const Expr* cond = analyzer_->simplify(i->cond);
    if (is_const(cond, 1)) return rewrite(i->then_case);
    if (is_const(cond, 0)) return rewrite(i->else_case);
    const Stmt* then_case = under(cond, i->then_case);
    const Stmt* else_case = under(logical_not(ctx_, cond), i->else_case);
    if (is_no_op(else_case)) else_case = nullptr;
    if (is_no_op(then_case)) {
      if (else_case) return ctx_.if_stmt(logical_not(ctx_, i->cond), else_case);
      return has_no_effect(i->cond) ? nullptr : effects({i->cond});
    }
    if (then_case == i->then_case && else_case == i->else_case) return i;
    return ctx_.if_stmt(i->cond, then_case, else_case);
  }

  // With what the condition tells.
  const Stmt* under(const Expr* cond, const Stmt* s) {
    if (!s || facts_.size() + loops_.size() >= kMostFacts || !is_pure_value(cond)) return rewrite(s);
    auto outer = std::exchange(analyzer_, std::make_unique<Analyzer>(ctx_));
    for (const ForStmt* f : loops_) analyzer_->bind_range(f->var, {f->min, f->extent});
    facts_.push_back(cond);
    for (const Expr* fact : facts_) analyzer_->assume(fact);
    const Stmt* made = rewrite(s);
    facts_.pop_back();
    analyzer_ = std::move(outer);
    return made;
  }

  const Stmt* store(const BufferStore* s) {
    const auto* load = as<BufferLoad>(s->value);
    if (!load || load->buffer != s->buffer || s->predicate || load->predicate) return s;
    for (std::size_t i = 0; i < s->indices.size(); ++i)
      if (!has_no_effect(s->indices[i]) || !analyzer_->prove_equal(s->indices[i], load->indices[i])) return s;
    return nullptr;
  }

  const Stmt* effects(std::initializer_list<const Expr*> list) {
    std::vector<const Stmt*> out;
    for (const Expr* e : list)
      if (!has_no_effect(e)) out.push_back(ctx_.evaluate(e));
    return ctx_.seq_stmt(out);
  }

  std::unique_ptr<Analyzer> analyzer_;
  std::vector<const ForStmt*> loops_;  // around the statement
  std::vector<const Expr*> facts_;     // conditions around it
};

const PrimFunc* without_no_ops(Context& ctx, const PrimFunc* f) {
  const Stmt* body = NoOps(ctx).rewrite(f->body);
  if (body && isa<AllocBuffer>(body)) body = no_op(ctx);  // nothing uses it
  return is_no_op(body) && is_no_op(f->body) ? f : with_body(ctx, f, body);
}

bool mentions(const Expr* e, Intrinsic id, const std::unordered_set<const Var*>& vars) {
  bool found = false;
  walk(e, [&](const Node* n) {
    if (const auto* x = as<Expr>(n)) {
      const IntrinsicInfo* called = called_intrinsic(x);
      found = found || (called && called->id == id);
    }
    if (const auto* v = as<Var>(n)) found = found || vars.contains(v);
    return !found;
  });
  return found;
}

class Assumptions : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* e = as<Evaluate>(s)) {
      const IntrinsicInfo* called = called_intrinsic(e->value);
      return called && called->id == intrin::Assume ? nullptr : s;
    }
    return default_stmt(s);
  }
};

// Removes stores and bindings of values that depend on T.undef(). Any other use of such a value has no meaning.
class Undefined : public Rewriter {
 public:
  using Rewriter::Rewriter;
  bool misused = false;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    misused = misused || undefined(e);
    return e;
  }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* b = as<BindStmt>(s); b && undefined(b->value)) {
      vars_.insert(b->var);
      return nullptr;
    }
    const auto* store = as<BufferStore>(s);
    if (!store || !undefined(store->value)) return default_stmt(s);
    for (const Expr* i : store->indices) misused = misused || undefined(i);
    return nullptr;
  }

 private:
  bool undefined(const Expr* e) const { return mentions(e, intrin::Undef, vars_); }
  std::unordered_set<const Var*> vars_;
};

}  // namespace

Result<const Module*> remove_no_op(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return without_no_ops(env.ctx, f);
  });
}

Result<const Module*> remove_assume(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return without_no_ops(env.ctx, with_body(env.ctx, f, Assumptions(env.ctx).rewrite(f->body)));
  });
}

Result<const Module*> remove_store_undef(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Undefined undefined(env.ctx);
    const Stmt* body = undefined.rewrite(f->body);
    if (undefined.misused)
      return support::Failure(source::message(diag::PassUnsupported, "`T.undef()` in `" + std::string(name) + "`",
                                              "it may only be the value of a store, or of a variable that is stored"));
    return without_no_ops(env.ctx, with_body(env.ctx, f, body));
  });
}

}  // namespace rldb::passes
