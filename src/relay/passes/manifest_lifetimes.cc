// ManifestLifetimes: `memory.kill(%x)` after the last binding that uses the variable, in the scope that binds it.
//
// Aliases of one value (`let %y = %x`) keep it alive up to the last of their uses. Variables used by the result of a
// scope are not killed; those bound in another scope are left to that scope. Requires A-normal form.
#include <map>

#include "relay/passes/common.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

class Lifetimes {
 public:
  explicit Lifetimes(PassEnv& env) : env_(env), ctx_(env.ctx) {}

  const Function* function(const Function* f) {
    // A function that makes closures owns captured values with the variables of the function that it returns.
    Vars owned(f->params.begin(), f->params.end());
    if (has_attr(f, attr_name::Closure))
      if (const auto* inner = as<Function>(f->body)) {
        owned.insert(owned.end(), inner->params.begin(), inner->params.end());
        const Expr* body = scope(inner->body, owned);
        return with_body(f, body == inner->body ? inner : with_body(inner, body));
      }
    return with_body(f, scope(f->body, owned));
  }

 private:
  using Vars = std::vector<const Var*>;

  const Function* with_body(const Function* f, const Expr* body) {
    if (body == f->body) return f;
    const Function* made = ctx_.function(f->type_params, f->params, f->result, body, f->attrs);
    ctx_.set_span(made, ctx_.span(f));
    return made;
  }

  // A value that has a register, by the variable to which it was first bound.
  struct Life {
    const Var* name = nullptr;  // the latest alias
    std::size_t last = 0;       // the last binding that uses it
    bool ends = true;           // before the scope's result
  };

  // The scopes inside a value.
  const Expr* inner(const Expr* v) {
    ExprMap mapped;
    if (const auto* i = as<If>(v)) {
      mapped[i->consequence] = scope(i->consequence, {});
      mapped[i->alternative] = scope(i->alternative, {});
    } else if (const auto* m = as<Match>(v)) {
      for (const Arm& arm : m->arms) {
        std::unordered_set<const Expr*> bound;
        collect_pattern_variables(arm.pattern, bound);
        Vars owned;
        for (const Expr* e : bound) owned.push_back(static_cast<const Var*>(e));
        mapped[arm.body] = scope(arm.body, owned);
      }
    } else if (const auto* f = as<Function>(v); f && !is_primitive(f)) {
      return function(f);
    }
    return mapped.empty() ? v : over_mapped(ctx_, v, mapped);
  }

  // The variables below `e`, each at least once. For a call or a tuple, scopes need not be checked.
  template <class F>
  static void for_each_variable(const Expr* e, F&& f) {
    const bool has_scopes = e->kind == ExprKind::If || e->kind == ExprKind::Match || e->kind == ExprKind::Function;
    if (const auto* v = as<Var>(e)) return f(v);
    if (!has_scopes) {
      for_each_operand(e, [&](const Expr* x) {
        if (const auto* v = as<Var>(x)) return f(v);
        if (const auto* t = as<Tuple>(x))
          for (const Expr* field : t->fields)
            if (const auto* v = as<Var>(field)) f(v);
      });
      return;
    }
    for (const Expr* x : reachable(e))
      if (const auto* v = as<Var>(x)) f(v);
  }

  // `memory.kill` and operations returning () have no value to release.
  static bool has_register(const Expr* value) {
    const OpInfo* op = operator_of(value);
    return !op || op->role != OpRole::Effect;
  }

  const Expr* scope(const Expr* e, const Vars& owned) {
    std::vector<const Let*> chain;
    const Expr* tail = e;
    for (; tail->kind == ExprKind::Let; tail = cast<Let>(tail).body) chain.push_back(&cast<Let>(tail));
    if (chain.empty()) return e;
    const auto dying = ends_of(chain, tail, owned);
    std::vector<std::pair<const Var*, const Expr*>> bindings;
    bool changed = false;
    Vars ended;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      support::poll();
      const Expr* value = inner(chain[i]->value);
      changed = changed || value != chain[i]->value || !dying[i].empty();
      bindings.emplace_back(chain[i]->var, value);
      ended.insert(ended.end(), dying[i].begin(), dying[i].end());
      // The result gets its name before its operands are killed.
      if (i + 1 < chain.size() && chain[i + 1]->value->kind == ExprKind::Var) continue;
      for (const Var* v : ended) bindings.emplace_back(unit(), kill(v, chain[i]->value));
      ended.clear();
    }
    if (!changed) return e;
    const Expr* result = tail;
    for (std::size_t i = bindings.size(); i-- > 0;) {
      result = ctx_.let(bindings[i].first, bindings[i].second, result);
      ctx_.set_span(result, ctx_.span(bindings[i].second));
    }
    return result;
  }

  // By binding, the values whose lives end there.
  std::vector<Vars> ends_of(const std::vector<const Let*>& chain, const Expr* tail, const Vars& owned) {
    NodeMap<const Var*> first;            // of a variable of this scope
    std::map<std::uint32_t, Life> lives;  // by the id of the first variable
    const auto use = [&](const Var* v, std::size_t i) {
      if (const auto known = first.find(v); known != first.end()) lives[known->second->id].last = i;
    };
    for (const Var* v : owned) {
      first[v] = v;
      lives[v->id] = {v, 0, true};
    }
    for (std::size_t i = 0; i < chain.size(); ++i) {
      support::poll();
      const Let* l = chain[i];
      for_each_variable(l->value, [&](const Var* v) { use(v, i); });
      if (!has_register(l->value)) {
        if (operator_of(l->value)->id == op::MemoryKill) end_of(cast<Call>(l->value), first, lives);
        continue;
      }
      const auto* other = as<Var>(l->value);
      if (other && !first.contains(other)) continue;  // an alias of a value bound in another scope
      first[l->var] = other ? first.at(other) : l->var;
      Life& life = lives[first.at(l->var)->id];
      life.name = l->var;
      life.last = i;
    }
    for_each_variable(tail, [&](const Var* v) {
      if (const auto known = first.find(v); known != first.end()) lives[known->second->id].ends = false;
    });
    std::vector<Vars> dying(chain.size());
    for (const auto& [id, life] : lives)
      if (life.ends) dying[life.last].push_back(life.name);
    return dying;
  }

  // It has been killed already.
  static void end_of(const Call& kill, const NodeMap<const Var*>& first, std::map<std::uint32_t, Life>& lives) {
    const auto* v = kill.args.empty() ? nullptr : as<Var>(kill.args[0]);
    if (!v) return;
    if (const auto known = first.find(v); known != first.end()) lives[known->second->id].ends = false;
  }

  const Var* unit() {
    const Var* var = ctx_.var("", nullptr);
    if (env_.names) env_.names->insert_or_assign(var, "");
    return var;
  }
  const Expr* kill(const Var* v, const Expr* place) {
    const Expr* made = ctx_.call(ctx_.op(&info(op::MemoryKill)), std::vector<const Expr*>{v});
    ctx_.set_span(made, ctx_.span(place));
    return made;
  }

  PassEnv& env_;
  Context& ctx_;
};

}  // namespace

const Module* run_ManifestLifetimes(PassEnv& env, const Module* m, const NoOptions&) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : Lifetimes(env).function(d.function);
  });
}

}  // namespace rldb::relay
