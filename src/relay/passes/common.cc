// Walks and rewriting shared by the passes.
#include "relay/passes/common.h"

#include <algorithm>

#include "rldb/relay/ir/node_set.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

bool has_attr(const Function* f, std::string_view name) {
  for (const NamedAttr& a : f->attrs)
    if (a.name == name && a.value->integer != 0) return true;
  return false;
}
bool is_primitive(const Function* f) { return has_attr(f, attr_name::Primitive); }

NamedAttr flag(Context& ctx, std::string_view name) {
  AttrValue one;
  one.kind = AttrKind::Int;
  one.integer = 1;
  return {ctx.str(name), ctx.attr(one)};
}

std::vector<const Expr*> reachable(const Expr* root) {
  NodeSet seen;
  seen.insert(root);
  std::vector<const Expr*> open{root}, found;
  while (!open.empty()) {
    support::poll();
    const Expr* e = open.back();
    open.pop_back();
    found.push_back(e);
    if (const auto* f = as<Function>(e); f && e != root && is_primitive(f)) continue;
    for_each_operand(e, [&](const Expr* x) {
      if (seen.insert(x)) open.push_back(x);
    });
  }
  std::sort(found.begin(), found.end(), [](const Expr* a, const Expr* b) { return a->id < b->id; });
  return found;
}

namespace {

class Over {
 public:
  Over(Context& ctx, const ExprMap& mapped) : ctx_(ctx), mapped_(mapped) {}

  const Expr* at(const Expr* e) {
    const auto found = mapped_.find(e);
    const Expr* to = found == mapped_.end() ? e : found->second;
    changed_ = changed_ || to != e;
    return to;
  }
  std::vector<const Expr*> all(Span<const Expr*> list) {
    std::vector<const Expr*> out;
    for (const Expr* e : list) out.push_back(at(e));
    return out;
  }

  const Expr* make(const Expr* e) {
    const Expr* made = build(e);
    if (!changed_) return e;
    ctx_.set_span(made, ctx_.span(e));
    return made;
  }

 private:
  const Expr* build(const Expr* e) {
    switch (e->kind) {
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        return e;
      case ExprKind::Call: {
        const auto& c = cast<Call>(e);
        const auto args = all(c.args);
        const Expr* callee = at(c.callee);
        return changed_ ? ctx_.call(callee, args, c.attrs, c.attrs_object) : e;
      }
      case ExprKind::Function: {
        const auto& f = cast<Function>(e);
        const Expr* body = at(f.body);
        return changed_ ? ctx_.function(f.type_params, f.params, f.result, body, f.attrs) : e;
      }
      case ExprKind::Let: {
        const auto& l = cast<Let>(e);
        const Expr *value = at(l.value), *body = at(l.body);
        return changed_ ? ctx_.let(l.var, value, body) : e;
      }
      case ExprKind::If: {
        const auto& i = cast<If>(e);
        const Expr *c = at(i.condition), *a = at(i.consequence), *b = at(i.alternative);
        return changed_ ? ctx_.if_expr(c, a, b) : e;
      }
      case ExprKind::Tuple: {
        const auto fields = all(cast<Tuple>(e).fields);
        return changed_ ? ctx_.tuple(fields) : e;
      }
      case ExprKind::Projection: {
        const Expr* t = at(cast<Projection>(e).tuple);
        return changed_ ? ctx_.projection(t, cast<Projection>(e).index) : e;
      }
      case ExprKind::Match: {
        const auto& m = cast<Match>(e);
        const Expr* v = at(m.value);
        std::vector<Arm> arms;
        for (const Arm& arm : m.arms) arms.push_back({arm.pattern, at(arm.body)});
        return changed_ ? ctx_.match(v, arms, m.complete) : e;
      }
      case ExprKind::RefCreate: {
        const Expr* v = at(cast<RefCreate>(e).value);
        return changed_ ? ctx_.ref_create(v) : e;
      }
      case ExprKind::RefRead: {
        const Expr* r = at(cast<RefRead>(e).reference);
        return changed_ ? ctx_.ref_read(r) : e;
      }
      case ExprKind::RefWrite: {
        const Expr *r = at(cast<RefWrite>(e).reference), *v = at(cast<RefWrite>(e).value);
        return changed_ ? ctx_.ref_write(r, v) : e;
      }
    }
    return e;
  }

  Context& ctx_;
  const ExprMap& mapped_;
  bool changed_ = false;
};

}  // namespace

const Expr* over_mapped(Context& ctx, const Expr* e, const ExprMap& mapped) { return Over(ctx, mapped).make(e); }

const Expr* body_with(Context& ctx, const Function* f, Span<const Var*> params) {
  ExprMap mapped;
  for (std::size_t i = 0; i < params.size(); ++i) mapped[f->params[i]] = params[i];
  for (const Expr* e : reachable(f->body))
    if (const Expr* made = over_mapped(ctx, e, mapped); made != e) mapped[e] = made;
  return mapped.contains(f->body) ? mapped.at(f->body) : f->body;
}

const OpInfo* operator_of(const Expr* e) {
  const auto* call = as<Call>(e);
  const auto* op = call ? as<Op>(call->callee) : nullptr;
  return op ? op->info : nullptr;
}

// ---- graphs of any form ----

const Expr* GraphRewriter::at(const Expr* e) const {
  const auto found = mapped_.find(e);
  return found == mapped_.end() ? e : found->second;
}

void GraphRewriter::map(const Expr* e, const Expr* to) {
  mapped_[e] = to;
  if (!to || to == e || is_leaf(to)) return;
  if (!ctx_.span(to)) ctx_.set_span(to, ctx_.span(e));
  if (!env_.names) return;
  if (const auto known = env_.names->find(e); known != env_.names->end()) {
    const std::string name = known->second;
    env_.names->try_emplace(to, name);
  }
}

void GraphRewriter::visit(const Expr* root) {
  enum class Stage : std::uint8_t { Enter, Bind, Done };
  NodeSet seen;
  std::vector<std::pair<const Expr*, Stage>> open{{root, Stage::Enter}};
  while (!open.empty()) {
    support::poll();
    const auto [e, stage] = open.back();
    open.pop_back();
    if (stage == Stage::Done) {
      const Expr* made = over_mapped(ctx_, e, mapped_);
      if (e != root) made = rewrite(e, made);
      if (made != e) map(e, made);
      continue;
    }
    if (stage == Stage::Bind) {
      bound(cast<Let>(e), at(cast<Let>(e).value));
      continue;
    }
    if (!seen.insert(e)) continue;
    open.emplace_back(e, Stage::Done);
    if (const auto* f = as<Function>(e); f && e != root && is_primitive(f)) continue;
    const std::size_t first = open.size();
    for_each_operand(e, [&](const Expr* x) {
      open.emplace_back(x, Stage::Enter);
      if (e->kind == ExprKind::Let && open.size() == first + 1) open.emplace_back(e, Stage::Bind);
    });
    std::reverse(open.begin() + std::ptrdiff_t(first), open.end());
  }
}

const Function* GraphRewriter::function(const Function* f) {
  visit(f);
  return static_cast<const Function*>(at(f));
}

// ---- A-normal form ----

const Expr* AnfRewriter::atom(const Expr* e) const {
  for (auto found = replaced_.find(e); found != replaced_.end(); found = replaced_.find(e)) e = found->second;
  return e;
}

const Function* AnfRewriter::function(const Function* f) {
  const Expr* body = scope(f->body);
  if (body == f->body) return f;
  const Function* made = ctx_.function(f->type_params, f->params, f->result, body, f->attrs);
  ctx_.set_span(made, ctx_.span(f));
  return made;
}

// The scopes inside a value, then its operands.
const Expr* AnfRewriter::inner(const Var* var, const Expr* v) {
  ExprMap mapped;
  for_each_operand(v, [&](const Expr* x) {
    if (const Expr* to = atom(x); to != x) mapped[x] = to;
  });
  if (const auto* i = as<If>(v)) {
    mapped[i->consequence] = scope(i->consequence);
    mapped[i->alternative] = scope(i->alternative);
  } else if (const auto* m = as<Match>(v)) {
    for (const Arm& arm : m->arms) mapped[arm.body] = scope(arm.body);
  } else if (const auto* f = as<Function>(v); f && !is_primitive(f)) {
    enter(var, f);
    mapped[f->body] = scope(f->body);
  }
  return over_mapped(ctx_, v, mapped);
}

const Expr* AnfRewriter::scope(const Expr* e) {
  std::vector<Binding> bindings;
  std::vector<Binding>* const outer = std::exchange(bindings_, &bindings);
  const Expr* tail = e;
  bool changed = false;
  for (; tail->kind == ExprKind::Let; tail = cast<Let>(tail).body) {
    support::poll();
    const auto& let = cast<Let>(tail);
    const std::size_t before = bindings.size();
    const Expr* v = value(let.var, inner(let.var, let.value));
    if (v) bindings.push_back({let.var, v});
    changed = changed || v != let.value || bindings.size() != before + 1;
  }
  const Expr* result = atom(tail);
  if (!is_leaf(tail)) {  // a primitive function, or text not in that form
    result = inner(nullptr, tail);
  }
  bindings_ = outer;
  if (!changed && result == tail) return e;
  for (std::size_t i = bindings.size(); i-- > 0;) {
    result = ctx_.let(bindings[i].first, bindings[i].second, result);
    ctx_.set_span(result, ctx_.span(bindings[i].second));
  }
  return result;
}

void collect_pattern_variables(const Pattern* p, std::unordered_set<const Expr*>& out) {
  std::vector<const Pattern*> open{p};
  while (!open.empty()) {
    const Pattern* at = open.back();
    open.pop_back();
    if (at->var) out.insert(at->var);
    open.insert(open.end(), at->parts.begin(), at->parts.end());
  }
}

std::vector<const Var*> free_variables(const Function* f) {
  std::unordered_set<const Expr*> bound(f->params.begin(), f->params.end());
  std::vector<const Var*> used, free;
  for (const Expr* e : reachable(f)) {
    if (const auto* v = as<Var>(e)) used.push_back(v);
    if (const auto* l = as<Let>(e)) bound.insert(l->var);
    if (const auto* g = as<Function>(e)) bound.insert(g->params.begin(), g->params.end());
    if (const auto* m = as<Match>(e))
      for (const Arm& arm : m->arms) collect_pattern_variables(arm.pattern, bound);
  }
  for (const Var* v : used)
    if (!bound.contains(v)) free.push_back(v);
  return free;
}

}  // namespace rldb::relay
