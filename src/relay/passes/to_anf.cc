// ToANormalForm: sharing becomes bindings.
//
// A node is bound in the innermost scope common to all of its uses, where the first of them needs it: nodes used by one
// branch only are evaluated there, those used by both before the `if`. Users have larger ids than their operands, so
// the scopes are found by one walk in descending id order; operands of any depth are walked with a stack.
#include "relay/passes/common.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

class Normaliser {
 public:
  Normaliser(Context& ctx, TextNames* names) : ctx_(ctx), names_(names) {}

  const Function* run(const Function* f) {
    place(f->body);
    const Expr* body = block(0, f->body);
    const Function* made = ctx_.function(f->type_params, f->params, f->result, body, f->attrs);
    ctx_.set_span(made, ctx_.span(f));
    return made;
  }

 private:
  struct Scope {
    int parent = -1;
    int depth = 0;
  };
  using Block = std::vector<std::pair<const Var*, const Expr*>>;

  // ---- where nodes are evaluated ----

  static bool is_atom(const Expr* e) { return is_leaf(e); }

  int common(int a, int b) const {
    while (a != b) {
      if (scopes_[std::size_t(a)].depth < scopes_[std::size_t(b)].depth) std::swap(a, b);
      a = scopes_[std::size_t(a)].parent;
    }
    return a;
  }

  int new_scope(int parent) {
    scopes_.push_back({parent, parent < 0 ? 0 : scopes_[std::size_t(parent)].depth + 1});
    return int(scopes_.size()) - 1;
  }

  void use(const Expr* e, int scope) {
    if (is_atom(e)) return;
    const auto [found, first] = home_.try_emplace(e, scope);
    if (!first) found->second = common(found->second, scope);
  }

  void use_inner(const Expr* e, const Expr* body, int outer) {
    const int scope = new_scope(outer);
    inner_[e].push_back(scope);
    use(body, scope);
  }

  void place(const Expr* body) {
    use(body, new_scope(-1));
    const std::vector<const Expr*> nodes = reachable(body);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      support::poll();
      const Expr* e = nodes[i];
      // An instruction's lists of operands have no separate scope.
      if (const auto home = home_.find(e); home != home_.end()) place_operands(e, home->second);
    }
  }

  void place_operands(const Expr* e, int scope) {
    if (const auto* f = as<Function>(e)) {
      if (!is_primitive(f)) use_inner(e, f->body, scope);
    } else if (const auto* i = as<If>(e)) {
      use(i->condition, scope);
      use_inner(e, i->consequence, scope);
      use_inner(e, i->alternative, scope);
    } else if (const auto* m = as<Match>(e)) {
      use(m->value, scope);
      for (const Arm& arm : m->arms) use_inner(e, arm.body, scope);
    } else if (is_instruction(e)) {
      for (const Expr* x : instruction_operands(cast<Call>(e))) use(x, scope);
    } else {
      for_each_operand(e, [&](const Expr* x) { use(x, scope); });
    }
  }

  // An instruction of the machine contains its function and its lists of operands directly.
  static bool is_instruction(const Expr* e) {
    const OpInfo* op = operator_of(e);
    return op && (op->role == OpRole::Instruction || op->role == OpRole::Effect);
  }
  static std::vector<const Expr*> instruction_operands(const Call& c) {
    std::vector<const Expr*> out;
    for (const Expr* a : c.args) {
      const auto* f = as<Function>(a);
      if (const auto* t = as<Tuple>(a))
        out.insert(out.end(), t->fields.begin(), t->fields.end());
      else if (!f || !is_primitive(f))
        out.push_back(a);
    }
    return out;
  }

  // ---- bindings ----

  const Expr* block(int scope, const Expr* body) {
    Block bindings;
    blocks_[scope] = &bindings;
    emit(body);
    const Expr* result = atom(body);
    for (std::size_t i = bindings.size(); i-- > 0;) {
      result = ctx_.let(bindings[i].first, bindings[i].second, result);
      ctx_.set_span(result, ctx_.span(bindings[i].second));
    }
    blocks_.erase(scope);
    return result;
  }

  // Null: not evaluated yet.
  const Expr* atom(const Expr* e) const {
    for (auto found = atoms_.find(e); found != atoms_.end(); found = atoms_.find(e)) e = found->second;
    return is_atom(e) ? e : nullptr;
  }

  // The operands evaluated in the scope of `e` itself, in order; null after the last.
  static const Expr* operand(const Expr* e, std::size_t i) {
    switch (e->kind) {
      case ExprKind::Call: {
        const auto& c = cast<Call>(e);
        if (is_instruction(e)) {
          const auto operands = instruction_operands(c);
          return i < operands.size() ? operands[i] : nullptr;
        }
        return i < c.args.size() ? c.args[i] : i == c.args.size() ? c.callee : nullptr;
      }
      case ExprKind::Let:
        return i == 0 ? cast<Let>(e).value : i == 1 ? cast<Let>(e).body : nullptr;
      case ExprKind::If:
        return i == 0 ? cast<If>(e).condition : nullptr;
      case ExprKind::Tuple:
        return i < cast<Tuple>(e).fields.size() ? cast<Tuple>(e).fields[i] : nullptr;
      case ExprKind::Projection:
        return i == 0 ? cast<Projection>(e).tuple : nullptr;
      case ExprKind::Match:
        return i == 0 ? cast<Match>(e).value : nullptr;
      case ExprKind::RefCreate:
        return i == 0 ? cast<RefCreate>(e).value : nullptr;
      case ExprKind::RefRead:
        return i == 0 ? cast<RefRead>(e).reference : nullptr;
      case ExprKind::RefWrite:
        return i == 0 ? cast<RefWrite>(e).reference : i == 1 ? cast<RefWrite>(e).value : nullptr;
      case ExprKind::Function:
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        return nullptr;
    }
    return nullptr;
  }

  void emit(const Expr* root) {
    std::vector<std::pair<const Expr*, std::size_t>> open{{root, 0}};
    while (!open.empty()) {
      support::poll();
      auto& [e, i] = open.back();
      const Expr* node = e;
      if (atom(node)) {
        open.pop_back();
        continue;
      }
      if (node->kind == ExprKind::Let && i <= 1) enter_let(cast<Let>(node), i);
      const Expr* next = operand(node, i++);
      if (next) {
        if (!atom(next)) open.push_back({next, 0});
        continue;
      }
      open.pop_back();
      finish(node);
    }
  }

  // Before its value: that will be bound to the variable. Before its body: the variable is a reference to the value.
  void enter_let(const Let& let, std::size_t step) {
    if (step == 0 && !atom(let.value)) wanted_.try_emplace(let.value, let.var);
    if (step == 1)
      if (const Expr* value = atom(let.value); value != let.var) atoms_[let.var] = value;
  }

  void finish(const Expr* e) {
    if (const auto* let = as<Let>(e)) {
      atoms_[e] = atom(let->body);
      return;
    }
    const Expr* value = rebuilt(e);
    const auto wanted = wanted_.find(e);
    const Var* var = wanted == wanted_.end() ? new_variable(e) : wanted->second;
    atoms_[e] = var;
    blocks_.at(home_.at(e))->push_back({var, value});
  }

  const Var* new_variable(const Expr* e) {
    const Var* var = ctx_.var("x", nullptr);
    if (names_) {
      const auto known = names_->find(e);
      names_->insert_or_assign(var, known == names_->end() ? std::string("_") : std::string(known->second));
    }
    return var;
  }

  const Expr* rebuilt(const Expr* e) {
    ExprMap mapped;
    for (std::size_t i = 0; const Expr* x = operand(e, i); ++i)
      if (const Expr* a = atom(x); a != x) mapped[x] = a;
    if (is_instruction(e))
      for (const Expr* a : cast<Call>(e).args)
        if (a->kind == ExprKind::Tuple) mapped[a] = over_mapped(ctx_, a, mapped);
    const auto found = inner_.find(e);
    if (found != inner_.end()) {
      const std::vector<int> scopes = found->second;
      std::size_t next = 0;
      // A scope whose body is merely the name of something outside keeps that name; the same body may be in two
      // branches, so that each gets its own.
      std::vector<const Expr*> bodies;
      for_each_body(e, [&](const Expr* body) { bodies.push_back(block(scopes[next++], body)); });
      return with_bodies(e, bodies, mapped);
    }
    return over_mapped(ctx_, e, mapped);
  }

  template <class F>
  static void for_each_body(const Expr* e, F&& f) {
    if (const auto* fn = as<Function>(e)) f(fn->body);
    if (const auto* i = as<If>(e)) {
      f(i->consequence);
      f(i->alternative);
    }
    if (const auto* m = as<Match>(e))
      for (const Arm& arm : m->arms) f(arm.body);
  }

  const Expr* with_bodies(const Expr* e, const std::vector<const Expr*>& bodies, const ExprMap& mapped) {
    const auto at = [&](const Expr* x) { return mapped.contains(x) ? mapped.at(x) : x; };
    const Expr* made = e;
    if (const auto* f = as<Function>(e)) {
      made = ctx_.function(f->type_params, f->params, f->result, bodies[0], f->attrs);
    } else if (const auto* i = as<If>(e)) {
      made = ctx_.if_expr(at(i->condition), bodies[0], bodies[1]);
    } else if (const auto* m = as<Match>(e)) {
      std::vector<Arm> arms;
      for (std::size_t n = 0; n < bodies.size(); ++n) arms.push_back({m->arms[n].pattern, bodies[n]});
      made = ctx_.match(at(m->value), arms, m->complete);
    }
    ctx_.set_span(made, ctx_.span(e));
    return made;
  }

  Context& ctx_;
  TextNames* names_;
  std::vector<Scope> scopes_;
  NodeMap<int> home_;
  NodeMap<std::vector<int>> inner_;
  std::unordered_map<int, Block*> blocks_;
  ExprMap atoms_;
  NodeMap<const Var*> wanted_;
};

}  // namespace

const Module* run_ToANormalForm(PassEnv& env, const Module* m, const NoOptions&) {
  return map_functions(env, m, [&](const Definition& d) {
    const Function* f = d.function;
    if (is_primitive(f)) return f;
    // A function that makes closures returns the function that they call, and nothing is bound around it.
    const auto* inner = has_attr(f, attr_name::Closure) ? as<Function>(f->body) : nullptr;
    if (!inner) return Normaliser(env.ctx, env.names).run(f);
    const Function* body = Normaliser(env.ctx, env.names).run(inner);
    const Function* made = env.ctx.function(f->type_params, f->params, f->result, body, f->attrs);
    env.ctx.set_span(made, env.ctx.span(f));
    return made;
  });
}

}  // namespace rldb::relay
