// Checkpoints of Gradient: markers removed, discarded values recomputed.
#include "passes/gradient/checkpoints.h"

#include <algorithm>

#include "rldb/ir/op/grad.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

const Function* CheckpointRemover::run(const Function* f) {
  kept_.insert(f->params.begin(), f->params.end());
  return rewrite_function(f);
}

const Var* CheckpointRemover::original(const Var* v) const {
  const auto found = original_.find(v);
  return found == original_.end() ? v : found->second;
}

std::vector<const Binding*> CheckpointRemover::visit_binding(const Binding* b) {
  const Call* start = as_call_of(b->value, op::GradStartCheckpoint);
  const Call* end = as_call_of(b->value, op::GradEndCheckpoint);
  const auto* marked = start ? as<Var>(start->args[0]) : end ? as<Var>(end->args[0]) : nullptr;
  if (!marked) {
    const std::vector<const Var*> used = free_vars(b->value);
    if (std::all_of(used.begin(), used.end(), [&](const Var* v) {
          return v->type->kind == TypeKind::Prim || kept_.count(v) > 0 || ends_.count(v) > 0;
        }))
      kept_.insert(b->var);
    return default_binding(b);
  }
  const auto* from = cast<Var>(rewrite(static_cast<const Expr*>(marked)));
  original_[b->var] = from;
  if (start) kept_.insert(from);
  if (end) ends_.insert(b->var);
  // An output gets its own variable.
  if (!b->var->is_dataflow() && from->is_dataflow()) return {remake_binding(ctx_, b, b->var, from)};
  remap(b->var, from);
  return {};
}

Recomputer::Recomputer(Context& ctx, const CheckpointRemover& marks, const Function* f,
                       std::vector<const Binding*>& out)
    : Rewriter(ctx), out_(out) {
  for (const BindingBlock* block : f->body->blocks)
    for (const Binding* b : block->bindings)
      if (!marks.is_kept(b->var)) lost_[b->var] = b;
}

const Expr* Recomputer::value_of(const Binding* b) { return recomputed(b->value); }

const Var* Recomputer::variable_of(const Binding* b, const Expr* value) {
  const auto found = lost_.find(b->var);
  if (found == lost_.end()) {
    const auto* known = as<Var>(lookup(b->var));
    return known ? known : b->var;
  }
  lost_.erase(found);
  const Var* v = ctx_.dataflow_var(std::string(b->var->name) + "_cp", value->type);
  ctx_.set_origin(v, b->var);
  out_.push_back(ctx_.binding(v, value));
  ctx_.set_origin(out_.back(), b);
  remap(b->var, v);
  return v;
}

// An explicit stack: the chain of discarded values may be long.
const Expr* Recomputer::recomputed(const Expr* value) {
  struct Step {
    const Binding* binding;  // null: the requested value itself
    std::vector<const Var*> needs;
    std::size_t next = 0;
  };
  std::vector<Step> stack{{nullptr, free_vars(value), 0}};
  for (;;) {
    support::poll();
    Step& top = stack.back();
    if (top.next < top.needs.size()) {
      const auto found = lost_.find(top.needs[top.next++]);
      if (found != lost_.end()) stack.push_back({found->second, free_vars(found->second->value), 0});
      continue;
    }
    const Binding* b = top.binding;
    stack.pop_back();
    if (!b) return rewrite(value);
    if (lost_.count(b->var)) variable_of(b, rewrite(b->value));
  }
}

}  // namespace rldb::passes
