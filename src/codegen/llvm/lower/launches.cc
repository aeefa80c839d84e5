#include "codegen/llvm/lower/launches.h"

#include <algorithm>

#include "rldb/ir/threads.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

namespace {

class Launches : public ir::Rewriter {
 public:
  using ir::Rewriter::Rewriter;

 protected:
  const ir::Stmt* visit_stmt(const ir::Stmt* s) override {
    const auto* attr = ir::as<ir::AttrStmt>(s);
    const std::string_view tag = attr ? ir::thread_tag(attr) : "";
    if (tag.empty()) return default_stmt(s);
    // The variable of an outer launch: the same thread.
    if (std::find(open_.begin(), open_.end(), attr->thread_var) != open_.end()) return rewrite(attr->body);
    const ir::Expr* extent = rewrite(attr->value);
    open_.push_back(attr->thread_var);
    const ir::Stmt* body = rewrite(attr->body);
    open_.pop_back();
    return ctx_.for_stmt(attr->thread_var, ctx_.int_imm(attr->thread_var->dtype(), 0), extent,
                         ir::ForKind::ThreadBinding, body, {}, tag);
  }

 private:
  std::vector<const ir::Var*> open_;
};

}  // namespace

const ir::PrimFunc* launches_as_loops(ir::Context& ctx, const ir::PrimFunc* f) {
  return Launches(ctx).rewrite_prim_func(f);
}

}  // namespace rldb::codegen
