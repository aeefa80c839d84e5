// CanonicalizeLoop: every loop starts at 0 and has the step 1; its variable is replaced by the value that it had.
//
// AnnotateIrregularLoop: a loop that a `break` or `continue` of its own body can leave early gets the annotation
// `irregular_loop_mark`, so that later passes do not reorder its iterations.
#include <fmt/format.h>

#include <array>

#include "rldb/ir/arith.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class Canonical : public Rewriter {
 public:
  explicit Canonical(Context& ctx) : Rewriter(ctx), analyzer_(ctx) {}
  std::string refused;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* f = as<ForStmt>(s);
    const bool one_by_one = !f || !f->step || is_const(f->step, 1);
    if (!f || (one_by_one && is_const(f->min, 0))) return default_stmt(s);
    const DType t = f->var->dtype();
    const Expr* step = f->step ? rewrite(f->step) : ctx_.int_imm(t, 1);
    if (!analyzer_.prove(ctx_.binary(BinaryKind::GE, step, ctx_.int_imm(step->dtype(), 1)))) {
      refused = fmt::format("the step of loop `{}` is `{}`, which may not be positive", f->var->name, print_expr(step));
      return s;
    }
    const Expr* min = rewrite(f->min);
    const Expr* extent = analyzer_.simplify(rounds(rewrite(f->extent), step));
    remap(f->var, cast_to(ctx_, t, add(ctx_, mul(ctx_, f->var, step), min)));
    const Stmt* body = rewrite(f->body);
    vars_.erase(f->var);
    return ctx_.for_stmt(f->var, ctx_.int_imm(t, 0), cast_to(ctx_, t, extent), f->for_kind, body ? body : no_op(ctx_),
                         rewrite_attrs(f->annotations), f->thread_tag);
  }

 private:
  // extent / step, rounded up.
  const Expr* rounds(const Expr* extent, const Expr* step) {
    if (is_const(step, 1)) return extent;
    return floor_div(ctx_, add(ctx_, extent, sub(ctx_, step, ctx_.int_imm(step->dtype(), 1))), step);
  }
  Analyzer analyzer_;
};

// Annotations of transformations that assume that every iteration runs.
constexpr std::array kNeedAllRounds = {attr_name::AutoUnrollMaxStep, attr_name::UnrollExplicit,
                                       attr_name::LoopPartitionHint, attr_name::SoftwarePipelineStage};

class Irregular : public Rewriter {
 public:
  using Rewriter::Rewriter;
  std::string refused;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* e = as<Evaluate>(s)) {
      jumps_ = jumps_ || is_call_of(e->value, intrin::BreakLoop) || is_call_of(e->value, intrin::ContinueLoop);
      return s;
    }
    const auto* f = as<ForStmt>(s);
    if (!f && !isa<WhileStmt>(s)) return default_stmt(s);
    const bool outer = std::exchange(jumps_, false);
    const Stmt* made = default_stmt(s);
    if (const auto* loop = as<ForStmt>(made); loop && jumps_) made = marked(loop);
    jumps_ = outer;
    return made;
  }

 private:
  const Stmt* marked(const ForStmt* f) {
    if (f->for_kind != ForKind::Serial)
      refused = fmt::format("loop `{}` has a break or continue, and is not serial", f->var->name);
    for (const std::string_view name : kNeedAllRounds)
      if (find_attr(f->annotations, name))
        refused = fmt::format("loop `{}` has a break or continue, and the annotation `{}`", f->var->name, name);
    return ctx_.for_stmt(f->var, f->min, f->extent, f->for_kind, f->body,
                         ctx_.with_attr(f->annotations, attr_name::IrregularLoopMark, ctx_.attr(1)), f->thread_tag,
                         f->step);
  }
  bool jumps_ = false;  // whether the loop around has a jump
};

template <class Pass>
Result<const Module*> run(PassEnv& env, const Module* module) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Pass pass(env.ctx);
    const Stmt* body = pass.rewrite(f->body);
    if (!pass.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("`{}`", name), std::move(pass.refused)));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace

Result<const Module*> canonicalize_loop(PassEnv& env, const Module* module, const NoOptions&) {
  return run<Canonical>(env, module);
}

Result<const Module*> annotate_irregular_loop(PassEnv& env, const Module* module, const NoOptions&) {
  return run<Irregular>(env, module);
}

}  // namespace rldb::passes
