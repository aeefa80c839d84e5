// UnrollLoop: loops that are marked T.unroll are unrolled, and so are short ones if the options request it.
//
// A serial loop is unrolled by itself when it contains no plain loop, at most `auto_max_depth` unrolled ones and at
// most `auto_max_step` statements, or runs at most `auto_max_extent` times; with `unroll_local_access` also when its
// variable indexes memory of scope "local" or "warp". Without `explicit_unroll` it is marked T.unroll.
#include <fmt/format.h>

#include <unordered_set>

#include "rldb/ir/arith.h"
#include "rldb/ir/loop_jump.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/tir_passes/inline_kernel.h"
#include "rldb/tir_passes/pass_options.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr std::int64_t kMaxCopies = 100'000;  // statements to which one function may grow

class Unroll : public Rewriter {
 public:
  Unroll(Context& ctx, const UnrollLoopOptions& options)
      : Rewriter(ctx), options_(options), names_("_"), analyzer_(ctx) {}
  bool too_much = false;

 protected:
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Expr* visit_expr(const Expr* e) override {
    if (options_.unroll_local_access)
      walk(e, [&](const Node* n) {
        if (const auto* load = as<BufferLoad>(n)) note_local(load->buffer, load->indices);
        return true;
      });
    return e;
  }

  const Stmt* visit_stmt(const Stmt* s) override {
    if (const auto* f = as<ForStmt>(s)) return loop(f);
    if (const auto* seq = as<SeqStmt>(s)) return sequence(seq);
    if (isa<BufferStore>(s) || isa<Evaluate>(s)) ++size_.steps;
    if (const auto* store = as<BufferStore>(s); store && options_.unroll_local_access)
      note_local(store->buffer, store->indices);
    return default_stmt(s);
  }

 private:
  struct Size {
    std::int64_t steps = 0;
    std::int64_t unrolled = 0;  // nested loops
    std::int64_t plain = 0;
  };

  void note_local(const Buffer* b, Span<const Expr*> indices) {
    if (b->scope != "local" && b->scope != "warp") return;
    std::vector<const Var*> vars;
    for (const Expr* i : indices) collect_vars(i, vars);
    local_.insert(vars.begin(), vars.end());
  }

  const Stmt* sequence(const SeqStmt* s) {
    const Size before = size_;
    Size all;
    std::vector<const Stmt*> out;
    bool changed = false;
    for (const Stmt* inner : s->stmts) {
      size_ = {};
      out.push_back(rewrite(inner));
      changed = changed || out.back() != inner;
      all = {all.steps + size_.steps, std::max(all.unrolled, size_.unrolled), std::max(all.plain, size_.plain)};
    }
    size_ = {before.steps + all.steps, std::max(before.unrolled, all.unrolled), std::max(before.plain, all.plain)};
    return changed ? ctx_.seq_stmt(out) : s;
  }

  // Inner loops first: their unrolled size decides about the outer one.
  const Stmt* loop(const ForStmt* loop) {
    const Stmt* made = default_stmt(loop);
    const auto* f = as<ForStmt>(made);
    if (!f) return made;
    const auto times = const_int(analyzer_.simplify(f->extent));
    // A copy of a jump would leave the loop around.
    const bool known =
        !jumps(f->body) && times && *times >= 0 && *times <= std::numeric_limits<std::int32_t>::max() && !f->step;
    bool wanted = f->for_kind == ForKind::Serial && known && size_.plain == 0 &&
                  size_.unrolled <= options_.auto_max_depth &&
                  (size_.steps <= options_.auto_max_step / std::max<std::int64_t>(*times, 1) ||
                   *times <= options_.auto_max_extent);
    wanted = wanted || (f->for_kind == ForKind::Unrolled && known);
    wanted = wanted || (options_.unroll_local_access && known && *times > 0 && local_.contains(f->var));
    if (wanted) {
      size_.steps *= *times;
      ++size_.unrolled;
    } else {
      ++size_.plain;
    }
    if (known && ((wanted && options_.explicit_unroll) || (options_.auto_max_extent == 1 && *times <= 1)))
      return written_out(f, *times);
    if (!wanted || f->for_kind == ForKind::Unrolled) return f;
    return ctx_.for_stmt(f->var, f->min, f->extent, ForKind::Unrolled, f->body, f->annotations, {}, f->step);
  }

  const Stmt* written_out(const ForStmt* f, std::int64_t times) {
    if (times == 0) return no_op(ctx_);
    if (size_.steps > kMaxCopies || times > kMaxCopies) {
      too_much = true;
      size_.steps = std::min(size_.steps, kMaxCopies);
      return f;
    }
    std::vector<const Stmt*> out;
    for (std::int64_t i = 0; i < times; ++i) {
      const Expr* at = add(ctx_, f->min, ctx_.int_imm(f->var->dtype(), i));
      KernelInliner copy(ctx_, names_);
      copy.put_scalar(f->var, at);
      out.push_back(copy.rewrite(f->body));
    }
    return ctx_.seq_stmt(out);
  }

  const UnrollLoopOptions& options_;
  UniqueNames names_;
  Analyzer analyzer_;
  Size size_;
  std::unordered_set<const Var*> local_;
};

}  // namespace

Result<const Module*> unroll_loop(PassEnv& env, const Module* module, const UnrollLoopOptions& options) {
  return map_prim_funcs(env, module, [&](std::string_view name, const PrimFunc* f) -> Result<const PrimFunc*> {
    Unroll unroll(env.ctx, options);
    const Stmt* body = unroll.rewrite(f->body);
    if (unroll.too_much)
      return support::Failure(source::message(diag::CodeTooLarge, name, kMaxCopies, "statements", kMaxCopies));
    return with_body(env.ctx, f, body);
  });
}

}  // namespace rldb::passes
