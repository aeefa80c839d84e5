// CanonicalizeBindings: trivial aliases are replaced by their targets, fields of known tuples by the fields, bound
// constants by the constants; provable match_casts are removed, and the symbolic variables that they introduced are
// replaced by their known values; variables used only inside their dataflow block become dataflow variables.
//
// Sound where TVM is not: a match_cast against a variable that is defined before it stays, because it is a check.
#include <unordered_set>

#include "passes/common.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/grad.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

// ---- symbolic variables that a match_cast defines and the value's type already knows ----

class SymbolicValues : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // The known facts may show that a call can never be correct. Then the function stays unchanged, and the call fails
  // when it runs, as it did before.
  const Function* run(const Function* f) {
    for (const Var* p : f->params) define_all(p->type);
    const Function* made = rewrite_function(f);
    return contradicts_ ? f : made;
  }

 protected:
  const Expr* visit_call(const Call* call) override {
    const Expr* made = Rewriter::visit_call(call);
    const auto* c = as<Call>(made);
    if (c && c != call && isa<Op>(c->callee) && !is_tir_op(c->callee))
      contradicts_ = contradicts_ || !ctx_.call(CallSpec{c->callee, c->args, c->attrs, c->ty_args}).ok();
    return made;
  }

  const Expr* visit_expr(const Expr* e) override {
    if (const auto* branch = as<If>(e)) return visit_if(branch);
    if (const auto* f = as<Function>(e)) {
      const Scope outer = save();
      for (const Var* p : f->params) define_all(p->type);
      const Expr* made = rewrite_function(f);
      restore(outer);
      return made;
    }
    return Rewriter::visit_expr(e);
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (b->is_match_cast()) {
      learn(b->cast_type, rewrite(b->value)->type);
      define_all(b->cast_type);
    }
    return default_binding(b);
  }

 private:
  struct Scope {
    VarMap vars;
    std::unordered_set<const Var*> defined;
  };
  Scope save() const { return {vars_, defined_}; }
  void restore(const Scope& s) {
    vars_ = s.vars;
    defined_ = s.defined;
  }

  void define_all(const Type* t) {
    std::vector<const Var*> vars;
    collect_vars(t, vars);
    defined_.insert(vars.begin(), vars.end());
  }

  void learn(const Type* pattern, const Type* known) {
    if (const auto* p = as<TensorType>(pattern)) {
      const auto* k = as<TensorType>(known);
      if (k && p->has_shape && k->has_shape) learn_dims(p->shape, k->shape);
    } else if (const auto* p = as<ShapeType>(pattern)) {
      const auto* k = as<ShapeType>(known);
      if (k && p->has_values && k->has_values) learn_dims(p->values, k->values);
    } else if (const auto* p = as<TupleType>(pattern)) {
      const auto* k = as<TupleType>(known);
      if (!k || k->fields.size() != p->fields.size()) return;
      for (std::size_t i = 0; i < p->fields.size(); ++i) learn(p->fields[i], k->fields[i]);
    }
  }

  void learn_dims(Span<const Expr*> pattern, Span<const Expr*> known) {
    if (pattern.size() != known.size()) return;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const auto* v = as<Var>(pattern[i]);
      if (!v || defined_.count(v) || v == known[i] || v->dtype() != known[i]->dtype()) continue;
      remap(v, known[i]);
      defined_.insert(v);
    }
  }

  // One branch may know more than the other: its result is cast back to the type common to both.
  const Expr* visit_if(const If* branch) {
    const Expr* cond = rewrite(branch->cond);
    const Scope outer = save();
    const SeqExpr* then_branch = cast<SeqExpr>(rewrite(static_cast<const Expr*>(branch->then_branch)));
    restore(outer);
    const SeqExpr* else_branch = cast<SeqExpr>(rewrite(static_cast<const Expr*>(branch->else_branch)));
    restore(outer);
    const Type* type = rewrite_type(branch->type);
    if (cond == branch->cond && then_branch == branch->then_branch && else_branch == branch->else_branch &&
        type == branch->type) {
      return branch;
    }
    if (then_branch != branch->then_branch) then_branch = recast(then_branch, type, "then_branch_with_dyn");
    if (else_branch != branch->else_branch) else_branch = recast(else_branch, type, "else_branch_with_dyn");
    return ctx_.if_expr(cond, then_branch, else_branch, type);
  }

  const SeqExpr* recast(const SeqExpr* s, const Type* type, std::string_view name) {
    if (s->type == type) return s;
    const Var* var = ctx_.var(name, type);
    const Binding* b = ctx_.match_cast(var, s->body, type);
    ctx_.set_origin(b, s);
    std::vector<const BindingBlock*> blocks(s->blocks.begin(), s->blocks.end());
    blocks.push_back(ctx_.block(std::span(&b, 1)));
    return make_seq(ctx_, blocks, var, s);
  }

  std::unordered_set<const Var*> defined_;
  bool contradicts_ = false;
};

// ---- replacements ----

struct Plan {
  std::unordered_map<const Var*, const Var*> usage;    // a use of the key becomes a use of the value
  std::unordered_map<const Var*, const Var*> binding;  // the binding of the key defines the value instead
  std::unordered_map<const Var*, const Constant*> constants;
  std::unordered_set<const Var*> removed;
};

class Planner {
 public:
  Plan plan(Context& ctx, const Function* f) {
    killed_ = killed_variables(f);
    visit_function(f);
    Plan p;
    for (const Var* v : order_) {
      if (!in_dataflow_.count(v) || v->is_dataflow() || used_outside_.count(v)) continue;
      const Var* made = ctx.dataflow_var(v->name, v->type);
      ctx.set_origin(made, v);
      p.binding[v] = made;
      p.usage[v] = made;
    }
    for (const Var* v : named_) constants_.erase(follow(aliases_, v));
    p.constants = constants_;
    for (const Var* bound : order_) {
      const auto alias = aliases_.find(bound);
      if (alias == aliases_.end()) continue;
      const Var* to = follow(aliases_, alias->second);
      to = follow(p.binding, to);
      p.removed.insert(bound);
      if (bound->is_dataflow() || !to->is_dataflow() || !used_outside_.count(bound)) {
        p.usage[bound] = to;
      } else {
        // The alias is the one that is visible outside the block: its target takes its name.
        p.binding[to] = bound;
        p.usage[to] = bound;
      }
    }
    return p;
  }

 private:
  static const Var* follow(const std::unordered_map<const Var*, const Var*>& map, const Var* v) {
    for (auto it = map.find(v); it != map.end(); it = map.find(v)) v = it->second;
    return v;
  }

  void visit_function(const Function* f) {
    const BindingBlock* outer = block_;
    block_ = nullptr;
    for (const Var* v : free_vars(f)) used_outside_.insert(v);
    visit_seq(f->body);
    block_ = outer;
  }

  void visit_seq(const SeqExpr* s) {
    const BindingBlock* outer = block_;
    for (const BindingBlock* b : s->blocks) {
      block_ = b;
      for (const Binding* binding : b->bindings) visit_binding(binding);
    }
    block_ = nullptr;
    visit_uses(s->body);
    block_ = outer;
  }

  void visit_binding(const Binding* b) {
    // A cast to another type is the user's intent.
    const bool same_type = b->var->type == b->value->type;
    const Expr* value = earlier_tuple(known_field(b->value));
    // The target of an alias of an alias is looked up once: chains of them are long.
    if (const auto* v = as<Var>(value); v && same_type && !killed_.count(v) && !killed_.count(b->var))
      aliases_[b->var] = follow(aliases_, v);
    if (const auto* c = as<Constant>(value); c && !killed_.count(b->var)) constants_[b->var] = c;
    const auto named = isa<Var>(value) ? known_.find(as<Var>(value)) : known_.end();
    known_[b->var] = named == known_.end() ? value : named->second;
    home_[b->var] = block_;
    order_.push_back(b->var);
    if (block_->is_dataflow()) in_dataflow_.insert(b->var);
    visit_uses(b->value);
  }

  const Expr* known(const Expr* e) const {
    const auto found = isa<Var>(e) ? known_.find(as<Var>(e)) : known_.end();
    return found == known_.end() ? e : found->second;
  }

  // A tuple of all fields of a variable, in order, is that variable.
  const Expr* earlier_tuple(const Expr* e) const {
    const auto* tuple = as<Tuple>(e);
    if (!tuple || tuple->items.empty()) return e;
    const Var* source = nullptr;
    for (std::size_t i = 0; i < tuple->items.size(); ++i) {
      const auto* field = as<TupleGetItem>(known(tuple->items[i]));
      const auto* from = field ? as<Var>(known(field->tuple)) : nullptr;
      if (!from || field->index != std::int64_t(i) || (source && from != source)) return e;
      source = from;
    }
    return source->type == e->type ? source : e;
  }

  // t[i] of a tuple whose construction is visible.
  const Expr* known_field(const Expr* e) const {
    const auto* get = as<TupleGetItem>(e);
    if (!get) return e;
    const Expr* tuple = get->tuple;
    while (const auto* v = as<Var>(tuple)) {
      const auto found = known_.find(v);
      if (found == known_.end()) break;
      tuple = found->second;
    }
    const auto* t = as<Tuple>(tuple);
    return t && std::size_t(get->index) < t->items.size() ? t->items[std::size_t(get->index)] : e;
  }

  void visit_uses(const Expr* e) {
    walk(e, [&](const Node* n) {
      if (const auto* v = as<Var>(n)) use(v);
      // A field is read from where it comes from.
      if (const auto* field = as<TupleGetItem>(n))
        if (const auto* v = as<Var>(known_field(field))) use(v);
      if (const auto* call = as<Call>(n)) keep_names(call);
      if (const auto* s = as<SeqExpr>(n)) {
        visit_seq(s);
        return false;
      }
      if (const auto* f = as<Function>(n)) {
        visit_function(f);
        return false;
      }
      return true;
    });
  }

  // A checkpoint marks a variable; a constant has no name to refer to.
  void keep_names(const Call* call) {
    if (!as_call_of(call, op::GradStartCheckpoint) && !as_call_of(call, op::GradEndCheckpoint)) return;
    for (const Expr* a : call->args)
      if (const auto* v = as<Var>(a)) named_.insert(v);
  }

  void use(const Var* v) {
    const auto home = home_.find(v);
    const bool inside = block_ && block_->is_dataflow();
    if (!inside || (home != home_.end() && home->second != block_)) used_outside_.insert(v);
  }

  std::unordered_set<const Var*> killed_;
  const BindingBlock* block_ = nullptr;
  std::vector<const Var*> order_;
  std::unordered_map<const Var*, const BindingBlock*> home_;
  std::unordered_map<const Var*, const Var*> aliases_;
  std::unordered_map<const Var*, const Expr*> known_;
  std::unordered_map<const Var*, const Constant*> constants_;
  std::unordered_set<const Var*> named_;  // that are read where only a variable may stand
  std::unordered_set<const Var*> in_dataflow_;
  std::unordered_set<const Var*> used_outside_;
};

// ---- rewriting ----

class Canonicalizer : public Rewriter {
 public:
  Canonicalizer(Context& ctx, const Plan& plan) : Rewriter(ctx), plan_(plan) {}

 protected:
  const Expr* visit_var(const Var* v) override {
    for (auto it = plan_.usage.find(v); it != plan_.usage.end(); it = plan_.usage.find(v)) v = it->second;
    if (const auto c = plan_.constants.find(v); c != plan_.constants.end()) return c->second;
    return lookup(v);
  }

  std::vector<const Binding*> visit_binding(const Binding* b) override {
    if (plan_.removed.count(b->var)) return {};
    const Var* var = b->var;
    for (auto it = plan_.binding.find(var); it != plan_.binding.end(); it = plan_.binding.find(var)) var = it->second;
    std::vector<const Binding*> out = default_binding(b);
    for (const Binding*& made : out) made = sharpened(b, made);
    if (var == b->var) return out;
    for (const Binding*& made : out) {
      if (made->var->type != var->type) {  // the value's type changed under it
        const Var* fresh =
            var->is_dataflow() ? ctx_.dataflow_var(var->name, made->var->type) : ctx_.var(var->name, made->var->type);
        ctx_.set_origin(fresh, var);
        remap(var, fresh);
        var = fresh;
      }
      made = remake_binding(ctx_, made, var, made->value);
    }
    return out;
  }

  const BindingBlock* visit_block(const BindingBlock* b) override {
    const BindingBlock* made = default_block(b);
    return made->is_dataflow() ? fold_outputs(made) : made;
  }

  const SeqExpr* visit_seq(const SeqExpr* s) override {
    const SeqExpr* made = default_seq(s);
    if (made == s || made->blocks.size() < 2) return made;
    return make_seq(ctx_, {made->blocks.begin(), made->blocks.end()}, made->body, s);
  }

 private:
  // A changed value may be more precise than the annotation. A cast of the user's stays.
  const Binding* sharpened(const Binding* b, const Binding* made) {
    const Type* type = made->value->type;
    if (made->is_match_cast() || made->value == b->value || made->var->type == type ||
        (isa<Var>(b->value) && b->var->type != b->value->type) || !is_base_of(ctx_, made->var->type, type)) {
      return made;
    }
    const Var* var =
        made->var->is_dataflow() ? ctx_.dataflow_var(made->var->name, type) : ctx_.var(made->var->name, type);
    ctx_.set_origin(var, b->var);
    remap(b->var, var);
    return remake_binding(ctx_, made, var, made->value);
  }

  // A dataflow variable that exists only to be bound to an output passes its value to the output.
  const BindingBlock* fold_outputs(const BindingBlock* block) {
    std::unordered_set<const Var*> used;     // other than in an output binding
    std::unordered_set<const Var*> outputs;  // by one output binding
    std::unordered_map<const Var*, const Expr*> candidates;
    for (std::size_t i = block->bindings.size(); i-- > 0;) {
      const Binding* b = block->bindings[i];
      const auto* alias = as<Var>(b->value);
      if (!b->var->is_dataflow() && !b->is_match_cast() && alias && alias->is_dataflow()) {
        if (!outputs.insert(alias).second) used.insert(alias);
        continue;
      }
      for (const Var* v : free_vars(b->value))
        if (v->is_dataflow()) used.insert(v);
      if (b->var->is_dataflow() && !b->is_match_cast() && outputs.count(b->var) && !used.count(b->var))
        candidates[b->var] = b->value;
    }
    if (candidates.empty()) return block;
    std::vector<const Binding*> kept;
    for (const Binding* b : block->bindings) {
      if (candidates.count(b->var)) continue;
      const auto* alias = as<Var>(b->value);
      const auto found = alias && !b->var->is_dataflow() ? candidates.find(alias) : candidates.end();
      kept.push_back(found == candidates.end() ? b : remake_binding(ctx_, b, b->var, found->second));
    }
    return ctx_.block(kept, true);
  }

  const Plan& plan_;
};

}  // namespace

const Function* canonicalize(Context& ctx, const Function* f) {
  f = SymbolicValues(ctx).run(f);
  const Plan plan = Planner().plan(ctx, f);
  return Canonicalizer(ctx, plan).rewrite_function(f);
}

Result<const Module*> canonicalize_bindings(PassEnv& env, const Module* module, const NoOptions&) {
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    return canonicalize(env.ctx, f);
  });
}

}  // namespace rldb::passes
