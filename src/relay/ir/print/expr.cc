// Prints expressions and definitions. The order in which graph variables are numbered is TVM's: operands are visited
// before their users, first the callee, then the arguments; an operand gets its number when its first user is
// visited.
#include <fmt/format.h>

#include <algorithm>

#include "relay/ir/print/printer_impl.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/support/cancel.h"

namespace rldb::relay::print_detail {

namespace {

// Calls f for the operands that a traversal may follow without entering a scope.
template <class F>
void for_each_dataflow_operand(const Expr* e, F&& f) {
  if (const auto* t = as<Tuple>(e)) {
    for (const Expr* x : t->fields) f(x);
  } else if (const auto* p = as<Projection>(e)) {
    f(p->tuple);
  } else if (const auto* c = as<Call>(e)) {
    f(c->callee);
    // The tuple of its operands is a convention of the call: they are visited in place of it.
    const auto* op = as<Op>(c->callee);
    const auto* packed = op && op->info->id == op::CallLowered && c->args.size() > 1 ? as<Tuple>(c->args[1]) : nullptr;
    if (packed) {
      f(c->args[0]);
      for (const Expr* x : packed->fields) f(x);
    } else {
      for (const Expr* x : c->args) f(x);
    }
  }
}

}  // namespace

std::string indented(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  return out;
}

void Printer::count_uses(const Expr* root) {
  std::vector<const Expr*> open{root};
  while (!open.empty()) {
    support::poll();
    const Expr* e = open.back();
    open.pop_back();
    if (state(e).counted) continue;
    state(e).counted = true;
    for_each_operand(e, [&](const Expr* x) {
      ++state(x).uses;
      open.push_back(x);
    });
  }
}

std::string Printer::unique(std::string name) {
  const auto found = names_.find(name);
  if (found != names_.end()) {
    std::string candidate;
    do candidate = fmt::format("{}{}", name, ++found->second);
    while (names_.contains(candidate));
    name = std::move(candidate);
  }
  names_[name] = 0;
  return name;
}

std::string Printer::binder(const Var* v) {
  std::string hint(v->name);
  if (hint.empty() || !((hint[0] >= 'a' && hint[0] <= 'z') || (hint[0] >= 'A' && hint[0] <= 'Z'))) hint = "v" + hint;
  std::string text = unique("%" + hint);
  State& s = state(v);
  s.text = text;
  s.visited = s.written = true;
  if (v->virtual_device) text += " {virtual_device=" + values_.attr(v->virtual_device) + "}";
  if (v->annotation) text += ": " + values_.type(v->annotation);
  return text;
}

void Printer::visit(const Expr* root) {
  std::vector<std::pair<const Expr*, bool>> open{{root, false}};
  while (!open.empty()) {
    support::poll();
    const auto [e, expanded] = open.back();
    if (state(e).visited) {
      open.pop_back();
      continue;
    }
    if (expanded) {
      open.pop_back();
      std::string text = own_text(e);
      State& s = state(e);
      if (e->kind != ExprKind::Var) s.text = std::move(text);
      s.visited = true;
      continue;
    }
    open.back().second = true;
    const std::size_t first = open.size();
    for_each_dataflow_operand(e, [&](const Expr* x) { open.emplace_back(x, false); });
    std::reverse(open.begin() + std::ptrdiff_t(first), open.end());
  }
}

std::string Printer::own_text(const Expr* e) {
  switch (e->kind) {
    case ExprKind::Var: {
      // It was not bound on the way here: it is free, and is declared where it is first used.
      free_[e] = binder(static_cast<const Var*>(e));
      return {};
    }
    case ExprKind::GlobalVar:
      return fmt::format("@{}", cast<GlobalVar>(e).name);
    case ExprKind::Constant: {
      std::string text = Values::literal(*cast<Constant>(e).tensor);
      return text.empty() ? values_.meta().constant(static_cast<const Constant*>(e)) : text;
    }
    case ExprKind::Op:
      return std::string(cast<Op>(e).info->name);
    case ExprKind::Constructor:
      return std::string(cast<Constructor>(e).name);
    case ExprKind::Call:
      return call(cast<Call>(e));
    case ExprKind::Function:
      return function("fn ", cast<Function>(e));
    case ExprKind::Let:
      return let(cast<Let>(e));
    case ExprKind::If:
      return if_expr(cast<If>(e));
    case ExprKind::Tuple:
      return tuple(cast<Tuple>(e));
    case ExprKind::Projection:
      return fmt::format("{}.{}", use(cast<Projection>(e).tuple, false), cast<Projection>(e).index);
    case ExprKind::Match:
      return match(cast<Match>(e));
    case ExprKind::RefCreate:
      return fmt::format("ref({})", use(cast<RefCreate>(e).value, false));
    case ExprKind::RefRead:
      return fmt::format("ref_read({})", use(cast<RefRead>(e).reference, false));
    case ExprKind::RefWrite: {
      const std::string reference = use(cast<RefWrite>(e).reference, false);
      return fmt::format("ref_write({}, {})", reference, use(cast<RefWrite>(e).value, false));
    }
  }
  return {};
}

std::string Printer::use(const Expr* e, bool may_inline) {
  visit(e);
  if (const auto found = free_.find(e); found != free_.end()) {
    scope() += "free_var " + found->second + ";\n";
    free_.erase(found);
  }
  if (state(e).written || is_leaf(e)) return state(e).text;
  std::string text = state(e).text;
  State& s = state(e);
  if (may_inline && s.uses <= 1) {
    s.written = true;
    return text;
  }
  // After `=`, the text format requires parentheses around these.
  if (e->kind == ExprKind::Let) text = "(\n  " + indented(text) + "\n)";
  if (e->kind == ExprKind::Match) text = "(" + text + ")";
  s.written = true;
  s.text = fmt::format("%{}", next_graph_++);
  scope() += s.text + " = " + text + ";\n";
  return s.text;
}

std::string Printer::in_scope(const Expr* e) {
  scopes_.emplace_back();
  const std::string last = use(e, true);
  std::string text = std::move(scopes_.back()) + last;
  scopes_.pop_back();
  return text;
}

std::string Printer::body(const Expr* e) { return "{\n  " + indented(in_scope(e)) + "\n}"; }

std::string Printer::call(const Call& e) {
  std::string args;
  for (const Expr* a : e.args) {
    if (!args.empty()) args += ", ";
    args += use(a, false);
  }
  const auto* op = as<Op>(e.callee);
  const std::string attrs = e.attrs_object ? values_.meta().object(e.attrs_object)
                            : op           ? values_.attrs_of(*op->info, e.attrs)
                                           : values_.attrs(e.attrs);
  args += (args.empty() || attrs.empty() ? "" : ", ") + attrs;
  const auto* constructor = as<Constructor>(e.callee);
  if (constructor && constructor->fields.empty()) return std::string(constructor->name);
  return use(e.callee, false) + "(" + args + ")";
}

std::string Printer::function(std::string_view prefix, const Function& f) {
  std::string text(prefix);
  if (!f.type_params.empty()) {
    text += '[';
    for (const TypeVar* v : f.type_params) text += (v == f.type_params.front() ? "" : ", ") + std::string(v->name);
    text += ']';
  }
  text += '(';
  std::string params;
  for (const Var* p : f.params) params += (params.empty() ? "" : ", ") + binder(p);
  if (!f.attrs.empty()) params += (params.empty() ? "" : ", ") + values_.attrs(f.attrs);
  text += params + ") ";
  if (f.result) text += "-> " + values_.type(f.result) + " ";
  return text + body(f.body);
}

std::string Printer::let(const Let& first) {
  std::size_t opened = 0;
  const Expr* e = &first;
  for (; const auto* l = as<Let>(e); e = l->body) {
    // A let with other references is a value with a name, not the rest of this chain.
    if (opened > 0 && (state(l).uses > 1 || state(l).visited)) break;
    std::string line = "let " + binder(l->var) + " = ";
    const std::string value = use(l->value, true);
    const bool inlined = l->value->kind == ExprKind::Let || l->value->kind == ExprKind::Match;
    if (inlined && state(l->value).uses <= 1) {
      line += l->value->kind == ExprKind::Let ? "(\n  " + indented(value) + "\n)" : "(" + value + ")";
    } else {
      line += value;
    }
    line += ";\n";
    if (opened++ == 0) scopes_.emplace_back();
    scope() += line;
  }
  scope() += in_scope(e);
  std::string text = std::move(scopes_.back());
  scopes_.pop_back();
  return text;
}

std::string Printer::if_expr(const If& e) {
  std::string text = "if (" + use(e.condition, false) + ") ";
  text += body(e.consequence);
  return text + " else " + body(e.alternative);
}

std::string Printer::tuple(const Tuple& e) {
  std::string fields;
  for (const Expr* x : e.fields) fields += (fields.empty() ? "" : ", ") + use(x, false);
  return "(" + fields + (e.fields.size() == 1 ? ",)" : ")");
}

std::string Printer::match(const Match& e) {
  std::string text = e.complete ? "match (" : "match? (";
  text += use(e.value, false) + ") {";
  for (const Arm& arm : e.arms) {
    std::string line = pattern(arm.pattern) + " => ";
    line += body(arm.body) + ",";
    text += "\n  " + indented(line);
  }
  return text + "\n}";
}

std::string Printer::pattern(const Pattern* p) {
  switch (p->kind) {
    case PatternKind::Wildcard:
      return "_";
    case PatternKind::Variable:
      return binder(p->var);
    case PatternKind::Constructor:
    case PatternKind::Tuple:
      break;
  }
  std::string parts;
  for (const Pattern* part : p->parts) parts += (parts.empty() ? "" : ", ") + pattern(part);
  if (p->kind == PatternKind::Tuple) return "(" + parts + ")";
  return std::string(p->constructor->name) + (p->parts.empty() ? "" : "(" + parts + ")");
}

std::string Printer::definition(const Definition& d) {
  count_uses(d.function);
  scopes_.emplace_back();
  std::string text = function(fmt::format("def @{}", d.name->name), *d.function);
  scopes_.pop_back();
  return text;
}

std::string Printer::expression(const Expr* e) {
  count_uses(e);
  return in_scope(e);
}

}  // namespace rldb::relay::print_detail
