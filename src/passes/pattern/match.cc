// Matching patterns.
#include <utility>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/passes/pattern.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

std::optional<DType> dtype_of(const Expr* e) {
  if (const auto* t = as<TensorType>(e->type)) return t->dtype;
  if (const auto* t = as<PrimType>(e->type)) return t->dtype;
  return std::nullopt;
}

bool has_shape(const Expr* e, const std::vector<std::int64_t>& wanted) {
  const auto* t = as<TensorType>(e->type);
  if (!t || !t->has_shape || t->shape.size() != wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto* d = as<IntImm>(t->shape[i]);
    if (wanted[i] >= 0 && (!d || d->value != wanted[i])) return false;
  }
  return true;
}

// Attributes are compared as printed; quotes may be left out.
bool has_attr(const Expr* e, const std::string& name, std::string_view wanted) {
  const auto* call = as<Call>(e);
  const Attr* a = call ? find_attr(call->attrs, name) : nullptr;
  if (!a) return false;
  if (wanted.size() >= 2 && (wanted.front() == '"' || wanted.front() == '\''))
    wanted = wanted.substr(1, wanted.size() - 2);
  return a->is(AttrKind::String) ? a->string == wanted : print_attr(a) == wanted;
}

bool is_commutative(const PatternNode* callee) {
  return callee->kind == PatternKind::Op && op::has(callee->name, op::Trait::Commutative);
}

}  // namespace

class PatternMatcher {
 public:
  PatternMatcher(const BoundValues& bound, PatternMatch& out) : bound_(bound), parts_(out.parts_) {}

  bool match(const Pattern& p, const Expr* e) {
    support::poll();
    for (const PatternMatch::Part& part : parts_)
      if (part.pattern == p.get()) return part.value == e || part.var == e || part.value == value_of(e).first;
    const std::size_t before = parts_.size();
    if (match_node(p, e)) return true;
    parts_.resize(before, {});
    return false;
  }

 private:
  // Follows variables to their values, and returns the last variable on the way.
  std::pair<const Expr*, const Var*> value_of(const Expr* e) const {
    const Var* last = nullptr;
    while (const auto* v = as<Var>(e)) {
      const auto found = bound_.find(v);
      if (found == bound_.end()) break;
      last = v;
      e = found->second;
    }
    return {e, last};
  }

  bool took(const Pattern& p, const Expr* value, const Var* var) {
    parts_.push_back({p.get(), value, var});
    return true;
  }

  bool match_node(const Pattern& p, const Expr* e) {
    const auto [value, var] = value_of(e);
    switch (p->kind) {
      case PatternKind::Wildcard:
        return took(p, e, nullptr);
      case PatternKind::Op: {
        const auto* o = as<Op>(value);
        return o && o->name == p->name && took(p, o, nullptr);
      }
      case PatternKind::GlobalVar: {
        const auto* g = as<GlobalVar>(value);
        return g && (p->name.empty() || g->name == p->name) && took(p, g, nullptr);
      }
      case PatternKind::ExternFunc: {
        const auto* f = as<ExternFunc>(value);
        return f && (p->name.empty() || f->symbol == p->name) && took(p, f, nullptr);
      }
      case PatternKind::Var: {
        const auto* v = as<Var>(e);
        return v && (p->name.empty() || v->name == p->name) && took(p, v, nullptr);
      }
      case PatternKind::Constant:
        return isa<Constant>(value) && took(p, value, var);
      case PatternKind::Call:
        return match_call(p, as<Call>(value)) && took(p, value, var);
      case PatternKind::Tuple: {
        const auto* t = as<Tuple>(value);
        return t && match_list(p->parts, 0, t->items) && took(p, value, var);
      }
      case PatternKind::TupleGetItem: {
        const auto* get = as<TupleGetItem>(value);
        if (!get || (p->index >= 0 && p->index != get->index)) return false;
        return match(p->parts[0], get->tuple) && took(p, value, var);
      }
      case PatternKind::Or:
        return (match(p->parts[0], e) || match(p->parts[1], e)) && took(p, value, var);
      case PatternKind::And:
        return match(p->parts[0], e) && match(p->parts[1], e) && took(p, value, var);
      case PatternKind::Not:
        return !match(p->parts[0], e) && took(p, value, var);
      case PatternKind::HasDtype:
        return dtype_of(e) == p->dtype && match(p->parts[0], e) && took(p, value, var);
      case PatternKind::HasShape:
        return has_shape(e, p->shape) && match(p->parts[0], e) && took(p, value, var);
      case PatternKind::HasAttr:
        return has_attr(value, p->name, p->value) && match(p->parts[0], e) && took(p, value, var);
    }
    return false;
  }

  bool match_call(const Pattern& p, const Call* call) {
    if (!call || !match(p->parts[0], call->callee)) return false;
    if (p->any_arguments) return true;
    const std::size_t before = parts_.size();
    if (match_list(p->parts, 1, call->args)) return true;
    parts_.resize(before, {});
    if (call->args.size() != 2 || p->parts.size() != 3 || !is_commutative(p->parts[0].get())) return false;
    return match(p->parts[1], call->args[1]) && match(p->parts[2], call->args[0]);
  }

  bool match_list(const std::vector<Pattern>& parts, std::size_t from, Span<const Expr*> values) {
    if (parts.size() - from != values.size()) return false;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!match(parts[from + i], values[i])) return false;
    return true;
  }

  const BoundValues& bound_;
  std::vector<PatternMatch::Part>& parts_;
};

const Expr* PatternMatch::operator[](const Pattern& p) const {
  for (const Part& part : parts_)
    if (part.pattern == p.get()) return part.value;
  return nullptr;
}

bool match(const Pattern& p, const Expr* e, const BoundValues& bound, PatternMatch& out) {
  out = {};
  return PatternMatcher(bound, out).match(p, e);
}

}  // namespace rldb::passes
