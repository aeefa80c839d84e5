// VectorizeLoop: loops that are marked T.vectorized become statements on vectors, with a ramp for the loop variable.
//
// A statement that vectors cannot express (under a condition that differs from lane to lane, with a call that takes
// scalars) becomes a loop of its own over the lanes. A loop whose iterations write the same element, or that allocates
// inside, becomes a serial loop: vectors would give other values.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMaxLanes = 1'024;

bool is_vector(const Expr* e) { return e->dtype().lanes != 1; }

bool mentions(const Node* n, const std::unordered_set<const Var*>& vars) {
  bool found = false;
  walk(n, [&](const Node* part) {
    const auto* v = as<Var>(part);
    found = found || (v && vars.contains(v));
    return !found;
  });
  return found;
}

const Stmt* serial(Context& ctx, const ForStmt* f, const Stmt* body) {
  const Stmt* made = ctx.for_stmt(f->var, f->min, f->extent, ForKind::Serial, body, {}, {}, f->step);
  ctx.set_origin(made, f);
  return made;
}

// One marked loop.
class Lanes : public Rewriter {
 public:
  Lanes(Context& ctx, const ForStmt* loop, std::int64_t lanes)
      : Rewriter(ctx), loop_(loop), lanes_(int(lanes)), analyzer_(ctx) {
    remap(loop->var, lanes == 1
                         ? loop->min
                         : ctx.ramp(loop->min, ctx.int_imm(loop->var->dtype(), 1), ctx.i32(std::int32_t(lanes))));
  }

  // Null: it has to be a serial loop.
  const Stmt* run() {
    if (lanes_ != 1 && !is_independent()) return nullptr;
    const Stmt* made = rewrite(loop_->body);
    return one_by_one_ ? nullptr : made;
  }

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }

  const Expr* visit_expr(const Expr* e) override {
    if (lanes_ == 1) return default_expr(e);
    if (split_) return e;  // the statement is written out lane by lane
    if (const auto* b = as<BinaryExpr>(e)) return binary(b);
    if (const auto* n = as<NotExpr>(e)) return ctx_.not_(rewrite(n->a));
    if (const auto* c = as<CastExpr>(e)) {
      const Expr* value = rewrite(c->value);
      return value == c->value ? e : ctx_.cast(c->dtype().with_lanes(value->dtype().lanes), value);
    }
    if (const auto* s = as<SelectExpr>(e)) {
      const Expr* parts[] = {rewrite(s->cond), rewrite(s->true_value), rewrite(s->false_value)};
      widen(parts);
      return split_ ? e : ctx_.select(parts[0], parts[1], parts[2]);
    }
    if (const auto* l = as<BufferLoad>(e)) return load(l);
    if (const auto* c = as<Call>(e)) return call(c);
    const Expr* made = default_expr_scalars(e);
    return made;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    if (const auto* st = as<SeqStmt>(s)) return default_stmt(st);
    if (const auto* st = as<BufferStore>(s)) return store(st);
    if (const auto* st = as<BindStmt>(s)) return bind(st);
    if (const auto* st = as<ForStmt>(s)) return inner_loop(st);
    const Expr* decides = nullptr;  // must have the same value in all lanes
    if (const auto* st = as<IfThenElse>(s)) decides = st->cond;
    if (const auto* st = as<Evaluate>(s)) decides = st->value;
    if (const auto* st = as<AssertStmt>(s)) decides = st->cond;
    if (const auto* st = as<AttrStmt>(s)) decides = st->value;
    if (!decides || !is_one_value(decides)) return lane_by_lane(s);
    return default_stmt(s);
  }

 private:
  // Every store depends on the loop variable for its position, and nothing inside is allocated in each iteration.
  bool is_independent() {
    std::unordered_set<const Var*> depends{loop_->var};
    bool good = true;
    walk(loop_->body, [&](const Node* n) {
      if (const auto* b = as<BindStmt>(n); b && mentions(b->value, depends)) depends.insert(b->var);
      if (const auto* st = as<BufferStore>(n))
        good = good &&
               std::any_of(st->indices.begin(), st->indices.end(), [&](const Expr* i) { return mentions(i, depends); });
      if (isa<AllocBuffer>(n) || isa<DeclBuffer>(n) || isa<AllocateStmt>(n) || isa<AllocateConstStmt>(n) ||
          isa<WhileStmt>(n))
        good = false;
      if (const auto* e = as<Expr>(n)) good = good && e->dtype().lanes == 1;
      return good;
    });
    return good;
  }

  bool is_one_value(const Expr* e) {
    const Expr* made = rewrite(e);
    return !std::exchange(split_, false) && !is_vector(made);
  }

  const Expr* wide(const Expr* e, int lanes) {
    if (e->dtype().lanes == lanes) return e;
    if (is_vector(e)) {
      split_ = true;
      return e;
    }
    return ctx_.broadcast(e, ctx_.i32(lanes));
  }
  // Widens all parts to the lanes of the widest.
  void widen(std::span<const Expr*> parts) {
    int lanes = 1;
    for (const Expr* e : parts) lanes = std::max(lanes, int(e->dtype().lanes));
    for (const Expr*& e : parts) e = wide(e, lanes);
  }

  // ---- expressions ----

  const Expr* binary(const BinaryExpr* e) {
    const Expr* a = rewrite(e->a);
    const Expr* b = rewrite(e->b);
    if (a == e->a && b == e->b) return e;
    if (const Expr* ramp = as_ramp(e->op(), a, b)) return ramp;
    const Expr* parts[] = {a, b};
    widen(parts);
    return split_ ? e : ctx_.binary(e->op(), parts[0], parts[1]);
  }

  // A ramp that is offset or scaled is a ramp.
  const Expr* as_ramp(BinaryKind op, const Expr* a, const Expr* b) {
    const auto* left = as<Ramp>(a);
    const auto* right = as<Ramp>(b);
    if (op == BinaryKind::Add && left && !is_vector(b))
      return ctx_.ramp(add(ctx_, left->base, b), left->stride, left->lanes);
    if (op == BinaryKind::Add && right && !is_vector(a))
      return ctx_.ramp(add(ctx_, a, right->base), right->stride, right->lanes);
    if (op == BinaryKind::Sub && left && !is_vector(b))
      return ctx_.ramp(sub(ctx_, left->base, b), left->stride, left->lanes);
    if (op == BinaryKind::Sub && right && !is_vector(a)) {
      const Expr* zero = ctx_.int_imm(right->stride->dtype(), 0);
      return ctx_.ramp(sub(ctx_, a, right->base), sub(ctx_, zero, right->stride), right->lanes);
    }
    if (op != BinaryKind::Mul) return nullptr;
    if (left && !is_vector(b) && is_positive(b))
      return ctx_.ramp(mul(ctx_, left->base, b), mul(ctx_, left->stride, b), left->lanes);
    if (right && !is_vector(a) && is_positive(a))
      return ctx_.ramp(mul(ctx_, right->base, a), mul(ctx_, right->stride, a), right->lanes);
    return nullptr;
  }
  bool is_positive(const Expr* e) {
    const Bounds b = analyzer_.bounds(e);
    return b.min && *b.min > 0;
  }

  const Expr* load(const BufferLoad* l) {
    std::vector<const Expr*> at;
    bool changed = false;
    for (const Expr* i : l->indices) {
      if (!at.empty() && is_vector(at.back())) split_ = true;  // only the last index can be a vector
      at.push_back(rewrite(i));
      changed = changed || at.back() != i;
    }
    if (l->predicate && is_vector(rewrite(l->predicate))) split_ = true;
    if (!changed || split_) return l;
    return ctx_.load(l->buffer, at, l->predicate);
  }

  const Expr* call(const Call* c) {
    const IntrinsicInfo* row = called_intrinsic(c);
    std::vector<const Expr*> args;
    bool vectors = false;
    for (const Expr* a : c->args) {
      args.push_back(rewrite(a));
      vectors = vectors || is_vector(args.back());
    }
    if (split_ || args == std::vector<const Expr*>(c->args.begin(), c->args.end())) return c;
    const bool condition = row && row->id == intrin::IfThenElse;
    if (vectors && (!row || row->purity != IntrinsicPurity::Pure || (condition && is_vector(args[0])))) {
      split_ = true;  // scalars only
      return c;
    }
    if (vectors) widen(std::span(args).subspan(condition ? 1 : 0));
    const int lanes = vectors ? int(args.back()->dtype().lanes) : 1;
    return split_ ? c : ctx_.call_typed(c->callee, args, ctx_.prim(c->dtype().with_lanes(lanes)), c->attrs);
  }

  // Kinds that have no vector form.
  const Expr* default_expr_scalars(const Expr* e) {
    if (isa<Var>(e) || isa<IntImm>(e) || isa<FloatImm>(e) || isa<StringImm>(e)) return default_expr(e);
    bool vectors = false;
    for_each_use(e, [&](const Node* n) {
      if (const auto* part = as<Expr>(n)) vectors = vectors || is_vector(rewrite(part));
    });
    split_ = split_ || vectors;
    return split_ ? e : default_expr(e);
  }

  // ---- statements ----

  const Stmt* store(const BufferStore* st) {
    std::vector<const Expr*> at;
    for (const Expr* i : st->indices) {
      if (!at.empty() && is_vector(at.back())) split_ = true;
      at.push_back(rewrite(i));
    }
    const Expr* value = rewrite(st->value);
    if (st->predicate && is_vector(rewrite(st->predicate))) split_ = true;
    if (!at.empty()) {
      const Expr* parts[] = {at.back(), value};
      widen(parts);
      at.back() = parts[0];
      value = parts[1];
    }
    if (std::exchange(split_, false)) return lane_by_lane(st);
    return ctx_.store(st->buffer, value, at, st->predicate);
  }

  const Stmt* bind(const BindStmt* st) {
    if (as<PointerType>(st->var->type)) return st;
    const Expr* value = rewrite(st->value);
    if (std::exchange(split_, false)) {
      one_by_one_ = true;  // the following statements see the variable
      return st;
    }
    if (value->dtype() == st->var->dtype()) return value == st->value ? st : ctx_.bind(st->var, value);
    const Var* v = ctx_.var(st->var->name, value->type);
    ctx_.set_origin(v, st->var);
    remap(st->var, v);
    vectors_.insert(st->var);
    return ctx_.bind(v, value);
  }

  const Stmt* inner_loop(const ForStmt* f) {
    if (!is_one_value(f->extent) || !is_one_value(f->min) || (f->step && !is_one_value(f->step)))
      return lane_by_lane(f);
    const Stmt* made = default_stmt(f);
    const auto* loop = as<ForStmt>(made);
    return loop && loop->for_kind == ForKind::Vectorized ? serial(ctx_, loop, loop->body) : made;
  }

  const Stmt* lane_by_lane(const Stmt* s) {
    if (lanes_ == 1) return default_stmt(s);
    if (mentions(s, vectors_)) one_by_one_ = true;
    const Var* lane = ctx_.var(fmt::format("{}_s", loop_->var->name), loop_->var->type);
    ctx_.set_origin(lane, loop_->var);
    const Stmt* body = substitute(ctx_, s, VarMap{{loop_->var, lane}});
    const Stmt* made = ctx_.for_stmt(lane, loop_->min, loop_->extent, ForKind::Serial, body);
    ctx_.set_origin(made, s);
    return made;
  }

  const ForStmt* loop_;
  int lanes_;
  Analyzer analyzer_;
  bool split_ = false;       // the current expression has no vector form
  bool one_by_one_ = false;  // nor does the loop
  std::unordered_set<const Var*> vectors_;
};

class Vectorizer : public Rewriter {
 public:
  Vectorizer(Context& ctx, bool enabled) : Rewriter(ctx), enabled_(enabled) {}
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* f = as<ForStmt>(s);
    if (!f || f->for_kind != ForKind::Vectorized) return default_stmt(s);
    const bool left = !support::may_rewrite([&] { return fmt::format("vectorises loop `{}`", f->var->name); });
    if (left) return default_stmt(s);
    if (!enabled_) return serial(ctx_, f, rewrite(f->body));
    const auto lanes = const_int(f->extent);
    if (!lanes || *lanes < 1 || *lanes > kMaxLanes || f->step || !const_int(f->min)) {
      refused = fmt::format(
          "loop `{}` has to run from a constant, in steps of 1, 1 to {} times, and that often is to be known",
          f->var->name, kMaxLanes);
      return s;
    }
    walk(f->body, [&](const Node* n) {
      if (isa<SBlock>(n))
        refused = fmt::format("loop `{}` has blocks inside: run LowerOpaqueBlock first", f->var->name);
      return refused.empty();
    });
    if (!refused.empty()) return s;
    const Stmt* made = Lanes(ctx_, f, *lanes).run();
    if (!made) return serial(ctx_, f, rewrite(f->body));
    ctx_.set_origin(made, f);
    return rewrite(made);  // loops inside one that became a loop over the lanes
  }

 private:
  bool enabled_;
};

}  // namespace

Result<const Module*> vectorize_loop(PassEnv& env, const Module* module, const VectorizeLoopOptions& options) {
  const bool enabled = options.enable_vectorize;
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Vectorizer vectorizer(env.ctx, enabled);
    const Stmt* body = vectorizer.rewrite(f->body);
    if (!vectorizer.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, "`" + std::string(name) + "` to vectors", vectorizer.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
