#include "codegen/llvm/lower/launches.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/nested_threads.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

namespace {

class Launches : public ir::Rewriter {
 public:
  using ir::Rewriter::Rewriter;

 protected:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const std::string_view tag = ir::thread_tag(s);
    if (tag.empty()) return default_stmt(s);
    const auto* loop = ir::as<ir::ForStmt>(s);
    const auto* attr = ir::as<ir::AttrStmt>(s);
    const ir::Var* var = ir::thread_var(s);
    // The variable of an outer launch: the same thread.
    if (attr && std::any_of(open_.begin(), open_.end(), [&](const ir::Stmt* o) { return ir::thread_var(o) == var; }))
      return rewrite(attr->body);
    if (const ir::Stmt* outer = same_thread(s)) {
      remap(var, place_in(outer, s));
      return rewrite(loop ? loop->body : attr->body);
    }
    open_.push_back(s);
    const ir::Stmt* made = loop ? default_stmt(s) : as_loop(attr, tag);
    open_.pop_back();
    return made;
  }

 private:
  const ir::Stmt* as_loop(const ir::AttrStmt* s, std::string_view tag) {
    const ir::Expr* extent = rewrite(s->value);
    const ir::Stmt* body = rewrite(s->body);
    return ctx_.for_stmt(s->thread_var, ctx_.int_imm(s->thread_var->dtype(), 0), extent, ir::ForKind::ThreadBinding,
                         body, {}, tag);
  }

  // The open statement whose thread is that of this one.
  const ir::Stmt* same_thread(const ir::Stmt* s) const {
    for (const ir::Stmt* outer : open_)
      if (ir::thread_tag(outer) == ir::thread_tag(s) && ir::needs_outer_thread(outer, s)) return outer;
    return nullptr;
  }

  struct Range {
    const ir::Expr *min, *extent;
  };
  Range range_of(const ir::Stmt* s) const {
    if (const auto* loop = ir::as<ir::ForStmt>(s)) return {loop->min, loop->extent};
    const auto* attr = ir::as<ir::AttrStmt>(s);
    return {ctx_.int_imm(attr->thread_var->dtype(), 0), attr->value};
  }

  const ir::Expr* place_in(const ir::Stmt* outer, const ir::Stmt* s) {
    const Range there = range_of(outer), here = range_of(s);
    ir::Analyzer analyzer(ctx_);
    if (!analyzer.prove_equal(there.extent, here.extent) || !analyzer.prove_equal(there.min, here.min))
      refuse(fmt::format("`{}` and `{}` inside of it are the same threads `{}`, and their extents differ",
                         ir::thread_var(outer)->name, ir::thread_var(s)->name, ir::thread_tag(s)));
    return ir::cast_to(ctx_, ir::thread_var(s)->dtype(), ir::thread_var(outer));
  }

  std::vector<const ir::Stmt*> open_;
};

}  // namespace

support::Result<const ir::PrimFunc*, std::string> launches_as_loops(ir::Context& ctx, const ir::PrimFunc* f) {
  try {
    return Launches(ctx).rewrite_prim_func(f);
  } catch (Refused& r) {
    return support::Failure(std::move(r.why));
  }
}

}  // namespace rldb::codegen
