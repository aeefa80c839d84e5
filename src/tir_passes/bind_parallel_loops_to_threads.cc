// BindParallelLoopsToThreads: the iterations of a parallel loop run in the threads of a GPU, as many in a block as the
// target allows; threads behind the last iteration do nothing.
//
// A parallel loop inside of another one, or of threads, stays as it is: TVM launches threads within threads there.
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"
#include "rldb/tir_passes/target.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMostThreads = 1024;  // if the target does not say it

class LoopBinder : public Rewriter {
 public:
  LoopBinder(Context& ctx, std::int64_t threads) : Rewriter(ctx), threads_(threads) {}

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override {
    if (!thread_tag(s).empty()) return s;
    const auto* loop = as<ForStmt>(s);
    return loop && loop->for_kind == ForKind::Parallel ? in_threads(loop) : default_stmt(s);
  }

 private:
  const Stmt* in_threads(const ForStmt* loop) {
    const DType t = loop->var->dtype();
    const Expr* extent = cast_to(ctx_, t, loop->extent);
    const Expr* threads = ctx_.int_imm(t, threads_);
    const Expr* blocks = floor_div(ctx_, add(ctx_, extent, ctx_.int_imm(t, threads_ - 1)), threads);
    const Var* thread = ctx_.var(kThreadIdxX, ctx_.prim(t));
    const Var* block = ctx_.var(kBlockIdxX, ctx_.prim(t));
    const Expr* at = add(ctx_, mul(ctx_, block, threads), thread);
    const Expr* step = loop->step ? mul(ctx_, at, cast_to(ctx_, t, loop->step)) : at;
    const VarMap value{{loop->var, add(ctx_, cast_to(ctx_, t, loop->min), step)}};
    const Stmt* made = ctx_.if_stmt(compare(ctx_, BinaryKind::LT, step, extent), substitute(ctx_, loop->body, value));
    made = launched(block, kBlockIdxX, blocks, launched(thread, kThreadIdxX, threads, made));
    ctx_.set_origin(made, loop);
    return made;
  }

  const Stmt* launched(const Var* v, std::string_view tag, const Expr* extent, const Stmt* body) {
    const Attr* const parts[] = {ctx_.attr(tag)};
    return ctx_.attr_stmt(ctx_.attr_opaque("T.iter_var", parts, {}), kThreadExtent, extent, body, v);
  }

  std::int64_t threads_;
};

}  // namespace

Result<const Module*> bind_parallel_loops_to_threads(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    const Attr* target = find_attr(f->attrs, kTargetAttr);
    if (!target || !is_gpu(target)) return f;
    LoopBinder binder(env.ctx, target_number(target, "max_num_threads").value_or(kMostThreads));
    return with_body(env.ctx, f, binder.rewrite(f->body));
  });
}

}  // namespace rldb::passes
