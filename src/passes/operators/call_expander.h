// CallExpander: a base for passes that replace one call by several operators.
//
// `expand` takes a call of leaves and returns the value that replaces it; `emit` binds the operands of that value
// first. If an operator does not accept its arguments, the call stays unchanged. Variables are followed to their values
// (`call_of`). Users: passes that express operators by other operators.
#pragma once

#include <unordered_map>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

class CallExpander : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;
  // The function with dead bindings removed; the same pointer when nothing was expanded.
  const ir::Function* run(const ir::Function* f) {
    const ir::Function* made = rewrite_function(f);
    return expanded_ ? remove_dead_bindings(ctx_, made) : f;
  }

 protected:
  // Null: the call stays.
  virtual const ir::Expr* expand(const ir::Call* call) = 0;
  // The same for reading a field of a tuple.
  virtual const ir::Expr* expand_field(const ir::TupleGetItem*) { return nullptr; }

  // A new variable for the value; null when the operator refuses its arguments, and then `expand` returns null too.
  const ir::Expr* emit(ir::Result<const ir::Call*> call) {
    if (!call.ok()) return nullptr;
    return emit_value(*call);
  }
  const ir::Expr* emit_value(const ir::Expr* value) {
    const ir::Var* v =
        in_dataflow() ? static_cast<const ir::Var*>(ctx_.dataflow_var("lv", value->type)) : ctx_.var("lv", value->type);
    pending_.push_back(ctx_.binding(v, value));
    return v;
  }
  const ir::Var* emit_match_cast(const ir::Expr* value, const ir::Type* type) {
    const ir::Var* v =
        in_dataflow() ? static_cast<const ir::Var*>(ctx_.dataflow_var("lv", type)) : ctx_.var("lv", type);
    pending_.push_back(ctx_.match_cast(v, value, type));
    return v;
  }
  static const ir::Expr* value_or_null(const ir::Result<const ir::Call*>& call) { return call.ok() ? *call : nullptr; }

  // The call of that operator to which a value resolves, through variables; null when there is none.
  const ir::Call* call_of(const ir::Expr* e, std::string_view op) const { return as_call_of(value_of(e), op); }
  const ir::Expr* value_of(const ir::Expr* e) const {
    while (const auto* v = ir::as<ir::Var>(e)) {
      const auto found = bound_.find(v);
      if (found == bound_.end()) break;
      e = found->second;
    }
    return e;
  }

  const ir::BindingBlock* visit_block(const ir::BindingBlock* b) override {
    const ir::BindingBlock* made = default_block(b);
    // The values of a dataflow block's variables may name others that end with it.
    if (b->is_dataflow()) bound_.clear();
    return made;
  }

  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override {
    std::vector<const ir::Binding*> made = default_binding(b);
    if (made.size() != 1 || made[0]->is_match_cast()) return made;
    support::poll();
    const auto* call = ir::as<ir::Call>(made[0]->value);
    const auto* field = ir::as<ir::TupleGetItem>(made[0]->value);
    pending_.clear();
    const ir::Expr* value = call ? expand(call) : field ? expand_field(field) : nullptr;
    if (value) {
      for (const ir::Binding* p : pending_) {
        ctx_.set_origin(p, b);
        ctx_.set_origin(p->value, made[0]->value);
      }
      const ir::Expr* old = made[0]->value;
      made = pending_;
      ctx_.set_origin(value, old);
      // If a value has a more precise type, its variable gets that type.
      const ir::Var* v = b->var->type == b->value->type ? define_var(b->var, value->type) : define_var(b->var);
      made.push_back(ctx_.binding(v, value));
      ctx_.set_origin(made.back(), b);
      expanded_ = true;
    }
    for (const ir::Binding* m : made) learn(m);
    return made;
  }

 private:
  void learn(const ir::Binding* b);

  bool expanded_ = false;
  std::vector<const ir::Binding*> pending_;
  std::unordered_map<const ir::Var*, const ir::Expr*> bound_;
};

// The type of a tensor whose shape is known; null for others.
inline const ir::TensorType* shaped(const ir::Expr* e) {
  const auto* t = ir::as<ir::TensorType>(e->type);
  return t && t->has_shape ? t : nullptr;
}

}  // namespace rldb::passes
