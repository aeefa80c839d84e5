// UnifyThreadBinding: all loops of a kernel that are bound to one thread tag use one variable, and the threads are
// launched by the outermost statement of the kernel, in the order in which their tags were met.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/arith.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/support/cancel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::string_view kBlockTags[] = {kBlockIdx, "clusterIdx.", "clusterCtaIdx"};

class Unifier : public Rewriter {
 public:
  explicit Unifier(Context& ctx) : Rewriter(ctx), analyzer_(ctx) {}
  std::string refused;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    support::poll();
    const std::string_view tag = thread_tag(s);
    if (tag.empty()) return default_stmt(s);
    if (const auto* f = as<ForStmt>(s)) {
      const Stmt* made = threads(f, tag, f->var, {f->min, f->extent}, f->body);
      return f->annotations.empty() ? made : annotated(f, made);
    }
    const auto* a = as<AttrStmt>(s);
    return threads(a, tag, a->thread_var, {ctx_.int_imm(a->value->dtype(), 0), a->value}, a->body);
  }

 private:
  struct Launch {
    std::string_view tag;
    const Var* var;
    Range range;
    const Stmt* from;
  };

  const Stmt* threads(const Stmt* s, std::string_view tag, const Var* var, const Range& range, const Stmt* body) {
    const bool outermost = depth_ == 0;
    const int outer = depth_;
    const bool is_block = std::any_of(std::begin(kBlockTags), std::end(kBlockTags),
                                      [&](std::string_view prefix) { return tag.starts_with(prefix); });
    if (outermost || is_block) ++depth_;
    if (outermost) launches_.clear();
    const Launch& launch = launch_of(s, tag, range);
    remap(var, cast_to(ctx_, var->dtype(), launch.var));
    const Stmt* made = rewrite(body);
    depth_ = outer;
    if (!made) made = no_op(ctx_);
    return outermost ? launched(made) : made;
  }

  const Launch& launch_of(const Stmt* s, std::string_view tag, const Range& range) {
    for (const Launch& known : launches_) {
      if (known.tag != tag) continue;
      if (!analyzer_.prove_equal(known.range.min, range.min) ||
          !analyzer_.prove_equal(known.range.extent, range.extent))
        refused = fmt::format(
            "all loops bound to `{}` must have the same extent: there are loops with the extents `{}` and `{}`", tag,
            print_expr(known.range.extent), print_expr(range.extent));
      return known;
    }
    const Var* var = ctx_.var(tag, ctx_.prim(range.extent->dtype()));
    ctx_.set_origin(var, s);
    launches_.push_back({tag, var, range, s});
    return launches_.back();
  }

  const Stmt* launched(const Stmt* body) {
    for (auto it = launches_.rbegin(); it != launches_.rend(); ++it) {
      body = ctx_.for_stmt(it->var, it->range.min, it->range.extent, ForKind::ThreadBinding, body, {}, it->tag);
      ctx_.set_origin(body, it->from);
    }
    return body;
  }

  // The annotations of a thread-bound loop stay where it was.
  const Stmt* annotated(const ForStmt* f, const Stmt* made) {
    if (const auto* loop = as<ForStmt>(made))
      return ctx_.for_stmt(loop->var, loop->min, loop->extent, loop->for_kind, loop->body, f->annotations,
                           loop->thread_tag, loop->step);
    const DType t = f->var->dtype();
    return ctx_.for_stmt(ctx_.var("var", ctx_.prim(t)), ctx_.int_imm(t, 0), ctx_.int_imm(t, 1), ForKind::Serial, made,
                         f->annotations);
  }

  Analyzer analyzer_;
  int depth_ = 0;                 // of statements around that begin a kernel or a block of it
  std::vector<Launch> launches_;  // of this kernel
};

}  // namespace

Result<const Module*> unify_thread_binding(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Unifier unifier(env.ctx);
    const Stmt* body = unifier.rewrite(f->body);
    if (!unifier.refused.empty())
      return support::Failure(
          source::message(diag::PassUnsupported, fmt::format("the threads of `{}`", name), unifier.refused));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
