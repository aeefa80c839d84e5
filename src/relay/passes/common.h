// Helpers shared by the passes: walks over the graph without recursion, and rewriting of A-normal form.
#pragma once

#include <unordered_set>
#include <utility>

#include "rldb/relay/ir/node_map.h"
#include "rldb/relay/passes/pass.h"

namespace rldb::relay {

// Everything below `root`, operands before users. Primitive functions are not looked into, unless `root` is one.
std::vector<const Expr*> reachable(const Expr* root);
// Attribute `name=1`.
NamedAttr flag(Context& ctx, std::string_view name);

using ExprMap = NodeMap<const Expr*>;
// `e` with mapped operands; `e` itself when they are the same.
const Expr* over_mapped(Context& ctx, const Expr* e, const ExprMap& mapped);

// The module with each function replaced by the result of `f`; null as soon as that is null.
template <class F>
const Module* map_functions(PassEnv& env, const Module* m, F&& f) {
  std::vector<Definition> functions;
  bool changed = false;
  for (const Definition& d : m->functions) {
    const Function* made = f(d);
    if (!made) return nullptr;
    changed = changed || made != d.function;
    functions.push_back({d.name, made});
  }
  if (!changed) return m;
  return env.ctx.module({m->types.begin(), m->types.end()}, std::move(functions));
}

// Rewrites a graph of any form: each node once, after its operands, the value of a `let` before its body. With an
// explicit stack. Primitive functions are not entered.
class GraphRewriter {
 public:
  explicit GraphRewriter(PassEnv& env) : env_(env), ctx_(env.ctx) {}
  virtual ~GraphRewriter() = default;
  const Function* function(const Function* f);

 protected:
  // The replacement of `e`; `made` is `e` with rewritten operands.
  virtual const Expr* rewrite(const Expr* e, const Expr* made) { return (void)e, made; }
  // Between the value of a `let`, which has become `value`, and its body.
  virtual void bound(const Let& let, const Expr* value) { (void)let, (void)value; }

  // The replacement of an expression, as far as it is known.
  const Expr* at(const Expr* e) const;
  void map(const Expr* e, const Expr* to);
  PassEnv& env_;
  Context& ctx_;

 private:
  void visit(const Expr* root);
  ExprMap mapped_;
};

// Rewrites A-normal form scope by scope. Recursion is over scopes, which expr.h bounds; chains are loops.
class AnfRewriter {
 public:
  explicit AnfRewriter(Context& ctx) : ctx_(ctx) {}
  virtual ~AnfRewriter() = default;

  const Function* function(const Function* f);
  const Expr* scope(const Expr* e);

 protected:
  using Binding = std::pair<const Var*, const Expr*>;
  // The new value of the variable; null: none (it was replaced). Operands have been replaced already.
  virtual const Expr* value(const Var* var, const Expr* v) { return (void)var, v; }
  // Called for a function in a binding, before its body is rewritten, and after that.
  virtual void enter(const Var* var, const Function* f) { (void)var, (void)f; }

  void bind(const Var* var, const Expr* v) { bindings_->push_back({var, v}); }
  void replace(const Var* var, const Expr* atom) { replaced_[var] = atom; }
  const Expr* atom(const Expr* e) const;
  Context& ctx_;

 private:
  const Expr* inner(const Var* var, const Expr* v);
  ExprMap replaced_;
  std::vector<Binding>* bindings_ = nullptr;
};

// Variables that are used in `f` and bound outside, in creation order.
std::vector<const Var*> free_variables(const Function* f);
void collect_pattern_variables(const Pattern* p, std::unordered_set<const Expr*>& out);

}  // namespace rldb::relay
