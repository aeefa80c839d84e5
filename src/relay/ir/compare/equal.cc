// Structural equality of Relay modules up to names of variables; describes the first difference.
#include "rldb/relay/ir/equal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>
#include <vector>

#include "rldb/relay/ir/printer.h"
#include "rldb/support/cancel.h"

namespace rldb::relay {

namespace {

bool tensor_equal(const runtime::Tensor& a, const runtime::Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

// Long texts are for files, not for messages.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 200;
  if (text.size() > kMost) text = text.substr(0, kMost) + " ...";
  return text;
}

class Comparer {
 public:
  std::optional<Difference> modules(const Module* a, const Module* b) {
    if (auto found = compare_names(a, b)) return found;
    for (std::size_t i = 0; i < a->types.size(); ++i)
      if (!same_definition(*a->types[i], *b->types[i]))
        return Difference{std::string(a->types[i]->name), "its constructors", "other constructors"};
    for (std::size_t i = 0; i < a->functions.size(); ++i)
      push(a->functions[i].function, b->functions[i].function, kNone, fmt::format("@{}", a->functions[i].name->name));
    if (!a->body != !b->body)
      return Difference{"module", a->body ? "an expression" : "definitions", b->body ? "an expression" : "definitions"};
    if (a->body) push(a->body, b->body, kNone, "expression");
    return run();
  }

  std::optional<Difference> expressions(const Expr* a, const Expr* b) {
    push(a, b, kNone, "expression");
    return run();
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t(0);
  struct Step {
    std::size_t parent;
    std::string label;
  };
  struct Pair {
    const Expr* a;
    const Expr* b;
    std::size_t step;
  };

  void push(const Expr* a, const Expr* b, std::size_t parent, std::string label) {
    steps_.push_back({parent, std::move(label)});
    open_.push_back({a, b, steps_.size() - 1});
  }

  static std::optional<Difference> compare_names(const Module* a, const Module* b) {
    for (const Module* m : {a, b}) {
      const Module* other = m == a ? b : a;
      const auto missing = [&](std::string_view name) {
        return Difference{"module", fmt::format("{}`{}`", m == a ? "has " : "lacks ", name),
                          fmt::format("{}`{}`", m == a ? "lacks " : "has ", name)};
      };
      for (const TypeDefinition* t : m->types)
        if (!other->find_type(t->name)) return missing(t->name);
      for (const Definition& d : m->functions)
        if (!other->find(d.name->name)) return missing(d.name->name);
    }
    return std::nullopt;
  }

  bool same_definition(const TypeDefinition& a, const TypeDefinition& b) {
    if (a.params.size() != b.params.size() || a.constructors.size() != b.constructors.size()) return false;
    for (std::size_t i = 0; i < a.params.size(); ++i) types_[a.params[i]] = b.params[i];
    for (std::size_t i = 0; i < a.constructors.size(); ++i)
      if (a.constructors[i]->name != b.constructors[i]->name ||
          !same_types(a.constructors[i]->fields, b.constructors[i]->fields))
        return false;
    return true;
  }

  std::optional<Difference> run() {
    while (!open_.empty()) {
      support::poll();
      const Pair p = open_.back();
      open_.pop_back();
      const std::size_t first = open_.size();
      if (!same(p)) return describe(p);
      std::reverse(open_.begin() + std::ptrdiff_t(first), open_.end());
    }
    return std::nullopt;
  }

  Difference describe(const Pair& p) const {
    std::vector<std::string_view> labels;
    for (std::size_t s = p.step; s != kNone; s = steps_[s].parent) labels.push_back(steps_[s].label);
    std::reverse(labels.begin(), labels.end());
    std::string left = shortened(print_expr(p.a)), right = shortened(print_expr(p.b));
    if (left == right) right += "  (shared with another place on one side only)";
    return {fmt::format("{}", fmt::join(labels, ".")), std::move(left), std::move(right)};
  }

  // True when the two nodes themselves correspond; their operands are pushed.
  bool same(const Pair& p) {
    const Expr *a = p.a, *b = p.b;
    if (a->kind != b->kind) return false;
    if (is_leaf(a) && a->kind != ExprKind::Var) return same_leaf(a, b);
    const auto [left, new_left] = pairs_.try_emplace(a, b);
    const auto [right, new_right] = back_.try_emplace(b, a);
    if (left->second != b || right->second != a) return false;
    return !new_left || same_node(p);
  }

  static bool same_leaf(const Expr* a, const Expr* b) {
    if (const auto* c = as<Constant>(a)) return tensor_equal(*c->tensor, *cast<Constant>(b).tensor);
    if (const auto* g = as<GlobalVar>(a)) return g->name == cast<GlobalVar>(b).name;
    if (const auto* c = as<Constructor>(a))
      return c->name == cast<Constructor>(b).name && c->type_name == cast<Constructor>(b).type_name;
    return cast<Op>(a).info == cast<Op>(b).info;
  }

  bool same_node(const Pair& p) {
    const Expr *a = p.a, *b = p.b;
    switch (a->kind) {
      case ExprKind::Var:
        return same_type(cast<Var>(a).annotation, cast<Var>(b).annotation) &&
               same_attr(cast<Var>(a).virtual_device, cast<Var>(b).virtual_device);
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        return false;
      case ExprKind::Call:
        return same_call(cast<Call>(a), cast<Call>(b)) && push_operands(p);
      case ExprKind::Function:
        return same_signature(p) && push_operands(p);
      case ExprKind::Let:
        push(cast<Let>(a).var, cast<Let>(b).var, p.step, "var");
        return push_operands(p);
      case ExprKind::Projection:
        return cast<Projection>(a).index == cast<Projection>(b).index && push_operands(p);
      case ExprKind::Match:
        return same_patterns(p) && push_operands(p);
      case ExprKind::If:
      case ExprKind::Tuple:
      case ExprKind::RefCreate:
      case ExprKind::RefRead:
      case ExprKind::RefWrite:
        return push_operands(p);
    }
    return false;
  }

  bool push_operands(const Pair& p) {
    std::vector<const Expr*> left, right;
    for_each_operand(p.a, [&](const Expr* e) { left.push_back(e); });
    for_each_operand(p.b, [&](const Expr* e) { right.push_back(e); });
    if (left.size() != right.size()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) push(left[i], right[i], p.step, operand_label(p.a, i));
    return true;
  }

  static std::string operand_label(const Expr* e, std::size_t i) {
    switch (e->kind) {
      case ExprKind::Call:
        return i < cast<Call>(e).args.size() ? fmt::format("args[{}]", i) : "callee";
      case ExprKind::Function:
        return "body";
      case ExprKind::Let:
        return i == 0 ? "value" : "body";
      case ExprKind::If:
        return i == 0 ? "condition" : i == 1 ? "then" : "else";
      case ExprKind::Match:
        return i == 0 ? "value" : fmt::format("arms[{}]", i - 1);
      case ExprKind::Tuple:
        return fmt::format("fields[{}]", i);
      case ExprKind::Projection:
        return "tuple";
      case ExprKind::RefCreate:
        return "value";
      case ExprKind::RefRead:
        return "reference";
      case ExprKind::RefWrite:
        return i == 0 ? "reference" : "value";
      case ExprKind::Var:
      case ExprKind::GlobalVar:
      case ExprKind::Constant:
      case ExprKind::Op:
      case ExprKind::Constructor:
        break;
    }
    return "operand";
  }

  bool same_call(const Call& a, const Call& b) {
    return same_attrs(a.attrs, b.attrs) && object_equal(a.attrs_object, b.attrs_object);
  }

  bool same_signature(const Pair& p) {
    const auto &a = cast<Function>(p.a), &b = cast<Function>(p.b);
    if (a.params.size() != b.params.size() || a.type_params.size() != b.type_params.size()) return false;
    for (std::size_t i = 0; i < a.type_params.size(); ++i) types_[a.type_params[i]] = b.type_params[i];
    for (std::size_t i = 0; i < a.params.size(); ++i)
      push(a.params[i], b.params[i], p.step, fmt::format("params[{}]", i));
    return same_type(a.result, b.result) && same_attrs(a.attrs, b.attrs);
  }

  bool same_patterns(const Pair& p) {
    const auto &a = cast<Match>(p.a), &b = cast<Match>(p.b);
    if (a.arms.size() != b.arms.size() || a.complete != b.complete) return false;
    for (std::size_t i = 0; i < a.arms.size(); ++i)
      if (!same_pattern(a.arms[i].pattern, b.arms[i].pattern, p.step)) return false;
    return true;
  }

  bool same_pattern(const Pattern* a, const Pattern* b, std::size_t step) {
    if (a->kind != b->kind || a->parts.size() != b->parts.size()) return false;
    if (a->var) push(a->var, b->var, step, "pattern");
    if (a->constructor && !same_leaf(a->constructor, b->constructor)) return false;
    for (std::size_t i = 0; i < a->parts.size(); ++i)
      if (!same_pattern(a->parts[i], b->parts[i], step)) return false;
    return true;
  }

  static bool same_attr(const AttrValue* a, const AttrValue* b) { return !a || !b ? a == b : attr_equal(a, b); }

  static bool same_attrs(Span<NamedAttr> a, Span<NamedAttr> b) {
    if (a.size() != b.size()) return false;
    // The order of attributes is merely the order in which they were written.
    for (const NamedAttr& x : a) {
      const auto found = std::find_if(b.begin(), b.end(), [&](const NamedAttr& y) { return y.name == x.name; });
      if (found == b.end() || !attr_equal(x.value, found->value)) return false;
    }
    return true;
  }

  bool same_types(Span<const Type*> a, Span<const Type*> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same_type(a[i], b[i])) return false;
    return true;
  }

  // The recursion is as deep as an annotation is written.
  bool same_type(const Type* a, const Type* b) {
    if (!a || !b) return a == b;
    if (a->kind != b->kind) return false;
    switch (a->kind) {
      case TypeKind::Tensor:
        return same_tensor(*as<TensorType>(a), *as<TensorType>(b));
      case TypeKind::Tuple:
        return same_types(as<TupleType>(a)->fields, as<TupleType>(b)->fields);
      case TypeKind::Function: {
        const auto &f = *as<FunctionType>(a), &g = *as<FunctionType>(b);
        if (f.type_params.size() != g.type_params.size()) return false;
        for (std::size_t i = 0; i < f.type_params.size(); ++i) types_[f.type_params[i]] = g.type_params[i];
        return same_types(f.params, g.params) && same_type(f.result, g.result);
      }
      case TypeKind::Variable: {
        const auto found = types_.find(as<TypeVar>(a));
        return found == types_.end() ? a == b : found->second == b;
      }
      case TypeKind::Named:
        return as<NamedType>(a)->name == as<NamedType>(b)->name &&
               same_types(as<NamedType>(a)->args, as<NamedType>(b)->args);
      case TypeKind::Reference:
        return same_type(as<ReferenceType>(a)->value, as<ReferenceType>(b)->value);
      case TypeKind::Hole:
        return true;
    }
    return false;
  }

  static bool same_tensor(const TensorType& a, const TensorType& b) {
    return a.dtype == b.dtype &&
           std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end(), [](const Dim& x, const Dim& y) {
             return x.kind == y.kind && x.value == y.value && x.wide == y.wide && object_equal(x.symbol, y.symbol);
           });
  }

  std::vector<Pair> open_;
  std::vector<Step> steps_;
  std::unordered_map<const Expr*, const Expr*> pairs_, back_;
  std::unordered_map<const TypeVar*, const TypeVar*> types_;
};

}  // namespace

std::optional<Difference> first_difference(const Module* a, const Module* b) { return Comparer().modules(a, b); }
std::optional<Difference> first_difference(const Expr* a, const Expr* b) { return Comparer().expressions(a, b); }

// ---- attributes ----

bool object_equal(const MetaObject* a, const MetaObject* b) {
  // Pairs are compared once: objects may be shared by many others.
  std::vector<std::pair<const MetaObject*, const MetaObject*>> open{{a, b}};
  std::set<std::pair<const MetaObject*, const MetaObject*>> seen;
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    if (x == y) continue;
    if (!x || !y) return false;
    if (!seen.emplace(x, y).second) continue;
    if (x->type_key != y->type_key || x->text != y->text || x->fields.size() != y->fields.size()) return false;
    for (std::size_t i = 0; i < x->fields.size(); ++i) {
      if (x->fields[i].name != y->fields[i].name || x->fields[i].text != y->fields[i].text) return false;
      open.emplace_back(x->fields[i].object, y->fields[i].object);
    }
  }
  return true;
}

bool attr_equal(const AttrValue* a, const AttrValue* b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case AttrKind::None:
      return true;
    case AttrKind::Int:
      return a->integer == b->integer && a->bits == b->bits;
    case AttrKind::Bool:
      return a->integer == b->integer;
    case AttrKind::Float:
      return a->real == b->real && a->bits == b->bits;
    case AttrKind::String:
      return a->text == b->text;
    case AttrKind::List:
      return std::equal(a->items.begin(), a->items.end(), b->items.begin(), b->items.end(), attr_equal);
    case AttrKind::Object:
      return object_equal(a->object, b->object);
    case AttrKind::Expression:
      return !first_difference(a->expr, b->expr);
  }
  return false;
}

}  // namespace rldb::relay
