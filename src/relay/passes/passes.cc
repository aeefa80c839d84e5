// The table of passes, and the small ones.
#include "relay/passes/common.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::relay {

namespace {

constexpr PassInfo kPasses[] = {
#define RLDB_RELAY_PASS(Id, name, short_name, doc) {PassId::Id, name, short_name, doc},
#include "rldb/relay/passes/pass.def"
};

using Run = const Module* (*)(PassEnv&, const Module*);
constexpr Run kRuns[] = {
#define RLDB_RELAY_PASS(Id, name, short_name, doc) run_##Id,
#include "rldb/relay/passes/pass.def"
};

}  // namespace

const PassInfo& info(PassId id) { return kPasses[std::size_t(id)]; }

std::vector<PassId> all_passes() {
  std::vector<PassId> ids;
  for (const PassInfo& p : kPasses) ids.push_back(p.id);
  return ids;
}

const Module* run_pass(PassId id, PassEnv& env, const Module* m) { return kRuns[std::size_t(id)](env, m); }

std::optional<std::vector<PassId>> parse_passes(std::string_view text, source::Diagnostics& out) {
  std::vector<PassId> ids;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = support::trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const PassInfo* found = nullptr;
    for (const PassInfo& p : kPasses)
      if (name == p.name || (name == p.short_name && !name.empty())) found = &p;
    if (!found) {
      std::string known;
      for (const PassInfo& p : kPasses) known += (known.empty() ? "" : ", ") + std::string(p.name);
      out.add({}, source::message(diag::RelayUnknownPass, name).with_hint("passes: " + known));
      return std::nullopt;
    }
    ids.push_back(found->id);
  }
  return ids;
}

const Module* prepare_for_vm(PassEnv& env, const Module* m) {
  for (const PassId id : all_passes()) {
    m = run_pass(id, env, m);
    if (!m) return nullptr;
  }
  return m;
}

// ---- RemoveUnusedFunctions ----

const Module* run_RemoveUnusedFunctions(PassEnv& env, const Module* m) {
  if (!m->find("main")) return m;
  std::unordered_set<std::string_view> used{"main"};
  std::vector<std::string_view> open{"main"};
  while (!open.empty()) {
    const Function* f = m->find(open.back());
    open.pop_back();
    if (!f) continue;
    for (const Expr* e : reachable(f))
      if (const auto* g = as<GlobalVar>(e); g && used.insert(g->name).second) open.push_back(g->name);
  }
  std::vector<Definition> functions;
  for (const Definition& d : m->functions)
    if (used.contains(d.name->name)) functions.push_back(d);
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

// Operands of `e` that are values and cannot be: constructors that take something, operators.
void expand_operands(Context& ctx, const Expr* e, ExprMap& mapped) {
  const Expr* callee = e->kind == ExprKind::Call ? cast<Call>(e).callee : nullptr;
  for_each_operand(e, [&](const Expr* x) {
    if (x == callee || mapped.contains(x)) return;
    if (const auto* c = as<Constructor>(x); c && !c->fields.empty()) mapped[x] = expanded(ctx, c, c->fields.size());
    if (const auto* o = as<Op>(x); o && o->info->operands >= 0)
      mapped[x] = expanded(ctx, o, std::size_t(o->info->operands));
  });
}

}  // namespace

const Module* run_EtaExpand(PassEnv& env, const Module* m) {
  return map_functions(env, m, [&](const Definition& d) {
    ExprMap mapped;
    for (const Expr* e : reachable(d.function)) {
      ExprMap operands = mapped;
      operands.clear();
      expand_operands(env.ctx, e, operands);
      for_each_operand(e, [&](const Expr* x) {
        if (const auto found = mapped.find(x); found != mapped.end()) operands[x] = found->second;
      });
      if (const Expr* made = over_mapped(env.ctx, e, operands); made != e) mapped[e] = made;
    }
    return static_cast<const Function*>(mapped.contains(d.function) ? mapped.at(d.function) : d.function);
  });
}

// ---- DeadCodeElimination ----

namespace {

class DeadCode : public AnfRewriter {
 public:
  DeadCode(Context& ctx, const Function* f) : AnfRewriter(ctx) { mark(f->body); }

 private:
  // What a scope uses, from its end: a binding is looked at when all that could use it has been.
  void mark(const Expr* e) {
    std::vector<const Let*> chain;
    for (; e->kind == ExprKind::Let; e = cast<Let>(e).body) chain.push_back(&cast<Let>(e));
    use(e);
    for (std::size_t i = chain.size(); i-- > 0;) {
      support::poll();
      if (!used_.contains(chain[i]->var) && is_pure(chain[i]->value))
        dead_.insert(chain[i]->var);
      else
        use(chain[i]->value);
    }
  }

  // What a value uses: operands with a stack, for text that is not in A-normal form nests them; scopes by recursion.
  void use(const Expr* root) {
    std::vector<const Expr*> open{root};
    while (!open.empty()) {
      support::poll();
      const Expr* e = open.back();
      open.pop_back();
      if (!used_.insert(e).second || is_leaf(e)) continue;
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

  static bool is_pure(const Expr* e) {
    switch (e->kind) {
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
      case ExprKind::Function:
      case ExprKind::Tuple:
      case ExprKind::Projection:
        return true;
      case ExprKind::Call: {
        const Expr* callee = cast<Call>(e).callee;
        return callee->kind == ExprKind::Op || callee->kind == ExprKind::Constructor ||
               callee->kind == ExprKind::Function;
      }
      case ExprKind::Let:
      case ExprKind::If:
      case ExprKind::Match:
      case ExprKind::RefCreate:
      case ExprKind::RefRead:
      case ExprKind::RefWrite:
        return false;
    }
    return false;
  }

  const Expr* value(const Var* var, const Expr* v) override { return dead_.contains(var) ? nullptr : v; }

  std::unordered_set<const Expr*> used_, dead_;
};

}  // namespace

const Module* run_DeadCodeElimination(PassEnv& env, const Module* m) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : DeadCode(env.ctx, d.function).function(d.function);
  });
}

// ---- InlinePrimitives ----

namespace {

class InlinePrimitives : public AnfRewriter {
 public:
  InlinePrimitives(Context& ctx, const Function* f) : AnfRewriter(ctx) {
    for (const Expr* e : reachable(f)) {
      const Expr* callee = e->kind == ExprKind::Call ? cast<Call>(e).callee : nullptr;
      for_each_operand(e, [&](const Expr* x) {
        if (x != callee && x->kind == ExprKind::Var) values_.insert(x);
      });
    }
  }

 private:
  const Expr* value(const Var* var, const Expr* v) override {
    const auto* f = as<Function>(v);
    // One that is handed around stays a function.
    if (!f || !is_primitive(f) || values_.contains(var)) return v;
    replace(var, f);
    return nullptr;
  }

  std::unordered_set<const Expr*> values_;  // variables that are used otherwise than called
};

}  // namespace

const Module* run_InlinePrimitives(PassEnv& env, const Module* m) {
  return map_functions(env, m, [&](const Definition& d) {
    return is_primitive(d.function) ? d.function : InlinePrimitives(env.ctx, d.function).function(d.function);
  });
}

}  // namespace rldb::relay
