// The small passes: RemoveUnusedFunctions, EtaExpand, DeadCodeElimination, InlinePrimitives.
#include <fmt/format.h>

#include "relay/passes/common.h"
#include "rldb/relay/ir/node_set.h"
#include "rldb/relay/passes/pass_options.h"
#include "rldb/support/cancel.h"
#include "rldb/support/rewrite_counter.h"

namespace rldb::relay {

// ---- RemoveUnusedFunctions ----

const Module* run_RemoveUnusedFunctions(PassEnv& env, const Module* m, const NoOptions&) {
  if (!m->find(env.entry)) return m;
  std::unordered_set<std::string_view> used{env.entry};
  std::vector<std::string_view> open{env.entry};
  while (!open.empty()) {
    const Function* f = m->find(open.back());
    open.pop_back();
    if (!f) continue;
    for (const Expr* e : reachable(f))
      if (const auto* g = as<GlobalVar>(e); g && used.insert(g->name).second) open.push_back(g->name);
  }
  std::vector<Definition> functions;
  for (const Definition& d : m->functions) {
    const auto text = [&] { return fmt::format("removes `@{}`", d.name->name); };
    if (used.contains(d.name->name) || !support::may_rewrite(text)) functions.push_back(d);
  }
  if (functions.size() == m->functions.size()) return m;
  return env.ctx.module({m->types.begin(), m->types.end()}, std::move(functions));
}

// ---- EtaExpand ----

namespace {

const Expr* expanded(Context& ctx, const Expr* callee, std::size_t count) {
  std::vector<const Var*> params;
  std::vector<const Expr*> args;
  for (std::size_t i = 0; i < count; ++i) {
    params.push_back(ctx.var(ctx.str("eta" + std::to_string(i)), nullptr));
    args.push_back(params.back());
  }
  return ctx.function({}, params, nullptr, ctx.call(callee, args));
}

// Constructors with fields, and operators, are not values.
class EtaExpand : public GraphRewriter {
 public:
  EtaExpand(PassEnv& env, bool constructors) : GraphRewriter(env), constructors_(constructors) {}

 private:
  const Expr* rewrite(const Expr*, const Expr* made) override {
    const Expr* callee = made->kind == ExprKind::Call ? cast<Call>(made).callee : nullptr;
    ExprMap operands;
    for_each_operand(made, [&](const Expr* x) {
      if (x == callee) return;
      if (const Expr* function = expansion(x)) operands[x] = function;
    });
    return over_mapped(ctx_, made, operands);
  }

  const Expr* expansion(const Expr* x) {
    if (const auto known = made_.find(x); known != made_.end()) return known->second;
    const auto* c = as<Constructor>(x);
    const auto* o = as<Op>(x);
    const auto text = [&] { return fmt::format("`{}` becomes a function", c ? c->name : o->info->name); };
    if (c && constructors_ && !c->fields.empty() && support::may_rewrite(text))
      return made_[x] = expanded(ctx_, c, c->fields.size());
    if (o && o->info->operands >= 0 && support::may_rewrite(text))
      return made_[x] = expanded(ctx_, o, std::size_t(o->info->operands));
    return nullptr;
  }

  bool constructors_;
  ExprMap made_;
};

}  // namespace

const Module* run_EtaExpand(PassEnv& env, const Module* m, const EtaExpandOptions& options) {
  return map_functions(
      env, m, [&](const Definition& d) { return EtaExpand(env, options.expand_constructor).function(d.function); });
}

// ---- DeadCodeElimination ----

namespace {

class DeadCode : public GraphRewriter {
 public:
  DeadCode(PassEnv& env, const Function* f) : GraphRewriter(env) {
    for (const Expr* e : reachable(f)) find_effects(e);
    mark(f->body);
  }

 private:
  // The uses in a scope, from its end: a binding is examined after everything that could use it.
  void mark(const Expr* e) {
    std::vector<const Let*> chain;
    for (; e->kind == ExprKind::Let; e = cast<Let>(e).body) chain.push_back(&cast<Let>(e));
    use(e);
    for (std::size_t i = chain.size(); i-- > 0;) {
      support::poll();
      const Let* l = chain[i];
      const auto text = [&] { return fmt::format("removes `%{}`", l->var->name); };
      if (!used_.contains(l->var) && !effects_.contains(l->value) && support::may_rewrite(text))
        dead_.insert(l);
      else
        use(l->value);
    }
  }

  // The uses in a value: operands with a stack, as text that is not in A-normal form nests them; scopes by recursion.
  void use(const Expr* root) {
    std::vector<const Expr*> open{root};
    while (!open.empty()) {
      support::poll();
      const Expr* e = open.back();
      open.pop_back();
      if (!used_.insert(e) || is_leaf(e)) continue;
      if (const auto* f = as<Function>(e)) {
        if (!is_primitive(f)) mark(f->body);
      } else if (const auto* i = as<If>(e)) {
        open.push_back(i->condition);
        mark(i->consequence);
        mark(i->alternative);
      } else if (const auto* m = as<Match>(e)) {
        open.push_back(m->value);
        for (const Arm& arm : m->arms) mark(arm.body);
      } else if (e->kind == ExprKind::Let) {
        mark(e);
      } else {
        for_each_operand(e, [&](const Expr* x) { open.push_back(x); });
      }
    }
  }

  // Does evaluating `e` have an effect besides its value? Nodes below it have been examined.
  void find_effects(const Expr* e) {
    bool effect = has_effect(e);
    if (e->kind != ExprKind::Function)
      for_each_operand(e, [&](const Expr* x) { effect = effect || effects_.contains(x); });
    if (effect) effects_.insert(e);
  }

  static bool has_effect(const Expr* e) {
    switch (e->kind) {
#define RLDB_RELAY_EXPR(...)
#define RLDB_RELAY_LEAF(Kind, ...) case ExprKind::Kind:
#include "rldb/relay/ir/node.def"
      case ExprKind::Function:
      case ExprKind::Tuple:
      case ExprKind::Projection:
      case ExprKind::Let:
      case ExprKind::If:
        return false;
      case ExprKind::Match:  // may fail
        return !cast<Match>(e).complete;
      case ExprKind::Call: {
        const Expr* callee = cast<Call>(e).callee;
        if (const auto* o = as<Op>(callee)) return o->info->role == OpRole::Effect;
        if (const auto* f = as<Function>(callee)) return !is_primitive(f);
        return callee->kind != ExprKind::Constructor;
      }
      case ExprKind::RefCreate:
      case ExprKind::RefRead:
      case ExprKind::RefWrite:
        return true;
    }
    return true;
  }

  const Expr* rewrite(const Expr* e, const Expr* made) override {
    const auto* l = as<Let>(e);
    return l && dead_.contains(l) ? cast<Let>(made).body : made;
  }

  NodeSet used_, effects_;
  std::unordered_set<const Let*> dead_;
};

}  // namespace

const Module* run_DeadCodeElimination(PassEnv& env, const Module* m, const NoOptions&) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : DeadCode(env, d.function).function(d.function);
  });
}

// ---- InlinePrimitives ----

namespace {

class InlinePrimitives : public AnfRewriter {
 public:
  InlinePrimitives(Context& ctx, const Function* f) : AnfRewriter(ctx) {
    for (const Expr* e : reachable(f)) {
      // The callee, of a call or of the instruction for one.
      const Expr* called = e->kind == ExprKind::Call ? cast<Call>(e).callee : nullptr;
      if (const OpInfo* op = operator_of(e); op && op->role == OpRole::Effect && !cast<Call>(e).args.empty())
        called = cast<Call>(e).args[0];
      for_each_operand(e, [&](const Expr* x) {
        if (x != called && x->kind == ExprKind::Var) values_.insert(x);
      });
    }
  }

 private:
  const Expr* value(const Var* var, const Expr* v) override {
    const auto* f = as<Function>(v);
    // A function that is used as a value is not inlined.
    if (!f || !is_primitive(f) || values_.contains(var)) return v;
    if (!support::may_rewrite([&] { return fmt::format("puts `%{}` into its calls", var->name); })) return v;
    replace(var, f);
    return nullptr;
  }

  NodeSet values_;  // variables used other than as callees
};

}  // namespace

const Module* run_InlinePrimitives(PassEnv& env, const Module* m, const NoOptions&) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : InlinePrimitives(env.ctx, d.function).function(d.function);
  });
}

}  // namespace rldb::relay
