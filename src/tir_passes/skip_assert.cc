// SkipAssert: a kernel without its assertions.
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

class WithoutAssertions : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Expr* visit_expr(const Expr* e) override { return e; }
  const Buffer* visit_buffer(const Buffer* b) override { return b; }
  const Stmt* visit_stmt(const Stmt* s) override { return isa<AssertStmt>(s) ? no_op(ctx_) : default_stmt(s); }
};

}  // namespace

Result<const Module*> skip_assert(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, WithoutAssertions(env.ctx).rewrite(f->body));
  });
}

}  // namespace rldb::passes
