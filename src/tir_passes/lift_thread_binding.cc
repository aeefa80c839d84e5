// LiftThreadBinding: the loops of a kernel that are bound to the same thread become one, around all that they
// contained. It takes the place of the innermost loop that contains them; loops that come to the same place are
// ordered so that threads are inside of thread blocks.
#include <algorithm>
#include <map>

#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The loops bound to one thread, as one loop.
struct ThreadBinding {
  const ForStmt* first = nullptr;
  const Var* var = nullptr;
  std::vector<const ForStmt*> path;  // loops around all of them, outermost first
  Span<NamedAttr> annotations;
};

class Lift : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  const Stmt* visit_stmt(const Stmt* s) override {
    const auto* f = as<ForStmt>(s);
    if (!f) return default_stmt(s);
    const bool bound = f->for_kind == ForKind::ThreadBinding;
    if (bound && !in_kernel_) {
      if (!plan(f)) return s;
      in_kernel_ = true;
      const Stmt* made = lifted(f);
      in_kernel_ = false;
      return made;
    }
    return in_kernel_ ? lifted(f) : default_stmt(s);
  }

 private:
  const Stmt* lifted(const ForStmt* f) {
    const bool bound = f->for_kind == ForKind::ThreadBinding;
    const Expr* min = bound ? nullptr : rewrite(f->min);
    const Expr* extent = bound ? nullptr : rewrite(f->extent);
    const Expr* step = f->step ? rewrite(f->step) : nullptr;
    const Stmt* body = rewrite(f->body);
    if (!body) body = no_op(ctx_);
    if (const auto at = at_.find(f); at != at_.end())
      for (const ThreadBinding* b : at->second)
        body = ctx_.for_stmt(b->var, b->first->min, b->first->extent, ForKind::ThreadBinding, body, b->annotations,
                             b->first->thread_tag);
    if (bound) return body;
    if (min == f->min && extent == f->extent && step == f->step && body == f->body) return f;
    return ctx_.for_stmt(f->var, min, extent, f->for_kind, body, rewrite_attrs(f->annotations), f->thread_tag, step);
  }

  // Finds where the loops below `root` go. False if they do not agree on a range: the kernel is left.
  bool plan(const ForStmt* root) {
    bindings_.clear();
    at_.clear();
    std::vector<const ForStmt*> stack;
    bool agree = true;
    collect(root, stack, agree);
    if (!agree) return false;
    std::vector<ThreadBinding*> order;
    for (auto& [tag, b] : bindings_) order.push_back(&b);
    std::stable_sort(order.begin(), order.end(), [](const ThreadBinding* a, const ThreadBinding* b) {
      return a->first->thread_tag.size() > b->first->thread_tag.size();
    });
    for (const ThreadBinding* b : order) at_[b->path.back()].push_back(b);
    return true;
  }

  void collect(const Stmt* s, std::vector<const ForStmt*>& stack, bool& agree) {
    const auto* f = as<ForStmt>(s);
    if (f) stack.push_back(f);
    for_each_use(s, [&](const Node* n) {
      if (const auto* inner = as<Stmt>(n)) collect(inner, stack, agree);
    });
    if (!f) return;
    if (f->for_kind == ForKind::ThreadBinding) note(f, stack, agree);
    stack.pop_back();
  }

  void note(const ForStmt* f, const std::vector<const ForStmt*>& stack, bool& agree) {
    ThreadBinding& b = bindings_[f->thread_tag];
    for (const NamedAttr& a : f->annotations) b.annotations = ctx_.with_attr(b.annotations, a.name, a.value);
    if (!b.first) {
      b.first = f;
      b.var = ctx_.var(f->thread_tag, f->var->type);
      ctx_.set_origin(b.var, f->var);
      b.path = stack;
    } else {
      agree = agree && expr_equal(f->min, b.first->min) && expr_equal(f->extent, b.first->extent);
      const auto end = std::mismatch(stack.begin(), stack.end(), b.path.begin(), b.path.end()).second;
      b.path.erase(end, b.path.end());
    }
    remap(f->var, cast_to(ctx_, f->var->dtype(), b.var));
  }

  bool in_kernel_ = false;
  std::map<std::string_view, ThreadBinding> bindings_;
  std::unordered_map<const ForStmt*, std::vector<const ThreadBinding*>> at_;
};

}  // namespace

Result<const Module*> lift_thread_binding(PassEnv& env, const Module* module, const NoOptions&) {
  return map_prim_funcs(env, module, [&](std::string_view, const PrimFunc* f) -> Result<const PrimFunc*> {
    return with_body(env.ctx, f, Lift(env.ctx).rewrite(f->body));
  });
}

}  // namespace rldb::passes
