// Equality and hash of scalar expressions with variables by identity: used by type interning for every dim.
//
// Both walk with an explicit stack: chains of additions are as deep as they are long.
#include <bit>

#include "ir/build/context_tables.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

// The children of a scalar expression, in order; false when its kind is compared by identity only.
template <class F>
bool scalar_children(const Expr* e, F&& f) {
  if (const auto* b = as<BinaryExpr>(e)) {
    f(b->a);
    f(b->b);
    return true;
  }
  if (const auto* c = as<CastExpr>(e)) return f(c->value), true;
  if (const auto* n = as<NotExpr>(e)) return f(n->a), true;
  if (const auto* s = as<SelectExpr>(e)) {
    f(s->cond);
    f(s->true_value);
    f(s->false_value);
    return true;
  }
  if (const auto* r = as<Ramp>(e)) {
    f(r->base);
    f(r->stride);
    f(r->lanes);
    return true;
  }
  if (const auto* b = as<Broadcast>(e)) {
    f(b->value);
    f(b->lanes);
    return true;
  }
  if (const auto* l = as<BufferLoad>(e)) {
    for (const Expr* i : l->indices) f(i);
    if (l->predicate) f(l->predicate);
    return true;
  }
  if (const auto* l = as<ProducerLoad>(e)) {
    for (const Expr* i : l->indices) f(i);
    return true;
  }
  if (const auto* c = as<Call>(e)) {
    f(c->callee);
    for (const Expr* a : c->args) f(a);
    return true;
  }
  if (const auto* s = as<ShapeExpr>(e)) {
    for (const Expr* v : s->values) f(v);
    return true;
  }
  if (const auto* t = as<TupleGetItem>(e)) return f(t->tuple), true;
  return isa<IntImm>(e) || isa<FloatImm>(e) || isa<StringImm>(e) || isa<DTypeImm>(e);
}

// The data of a node other than its children.
bool same_data(const Expr* a, const Expr* b) {
  switch (a->expr_kind()) {
    case ExprKind::IntImm:
      return a->type == b->type && as<IntImm>(a)->value == as<IntImm>(b)->value;
    case ExprKind::FloatImm:
      return a->type == b->type && std::bit_cast<std::uint64_t>(as<FloatImm>(a)->value) ==
                                       std::bit_cast<std::uint64_t>(as<FloatImm>(b)->value);
    case ExprKind::StringImm:
      return as<StringImm>(a)->value == as<StringImm>(b)->value;
    case ExprKind::DTypeImm:
      return as<DTypeImm>(a)->value == as<DTypeImm>(b)->value;
    case ExprKind::BufferLoad: {
      const auto *x = as<BufferLoad>(a), *y = as<BufferLoad>(b);
      return x->buffer == y->buffer && x->indices.size() == y->indices.size() && !x->predicate == !y->predicate;
    }
    case ExprKind::ProducerLoad: {
      const auto *x = as<ProducerLoad>(a), *y = as<ProducerLoad>(b);
      return x->tensor == y->tensor && x->indices.size() == y->indices.size();
    }
    case ExprKind::Call: {
      const auto *x = as<Call>(a), *y = as<Call>(b);
      if (x->type != y->type || x->args.size() != y->args.size() || x->attrs.size() != y->attrs.size()) return false;
      if (!std::equal(x->ty_args.begin(), x->ty_args.end(), y->ty_args.begin(), y->ty_args.end())) return false;
      for (std::size_t i = 0; i < x->attrs.size(); ++i)
        if (x->attrs[i].name != y->attrs[i].name || !attr_equal(x->attrs[i].value, y->attrs[i].value)) return false;
      return true;
    }
    case ExprKind::ShapeExpr:
      return as<ShapeExpr>(a)->values.size() == as<ShapeExpr>(b)->values.size();
    case ExprKind::TupleGetItem:
      return as<TupleGetItem>(a)->index == as<TupleGetItem>(b)->index;
    case ExprKind::Cast:
      return a->type == b->type;
    case ExprKind::Binary:
    case ExprKind::Tuple:
    case ExprKind::If:
    case ExprKind::SeqExpr:
    case ExprKind::CommReducer:
    case ExprKind::Lambda:
#define RLDB_TYPED(...)
#define RLDB_SCALAR(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return true;  // nothing but children
#define RLDB_NAME(Kind, ...) case ExprKind::Kind:
#define RLDB_ATOM(Kind, ...) case ExprKind::Kind:
#define RLDB_FUNCTION(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return true;  // already compared by identity
  }
  RLDB_UNREACHABLE("every kind of expression has its case");
}

std::uint64_t data_hash(const Expr* e) {
  switch (e->expr_kind()) {
    case ExprKind::IntImm:
      return std::uint64_t(as<IntImm>(e)->value) ^ std::uint64_t(dtype_bits(e->dtype())) << 32;
    case ExprKind::FloatImm:
      return std::bit_cast<std::uint64_t>(as<FloatImm>(e)->value);
    case ExprKind::Cast:
      return dtype_bits(e->dtype());
    case ExprKind::StringImm:
      return std::hash<std::string_view>()(as<StringImm>(e)->value);
    case ExprKind::DTypeImm:
      return dtype_bits(as<DTypeImm>(e)->value);
    case ExprKind::TupleGetItem:
      return std::uint64_t(as<TupleGetItem>(e)->index);
    case ExprKind::Call:
      return as<Call>(e)->args.size();
    case ExprKind::ShapeExpr:
      return as<ShapeExpr>(e)->values.size();
    case ExprKind::BufferLoad:
      return std::uint64_t(reinterpret_cast<std::uintptr_t>(as<BufferLoad>(e)->buffer));
    case ExprKind::Binary:
    case ExprKind::Tuple:
    case ExprKind::If:
    case ExprKind::SeqExpr:
#define RLDB_TYPED(...)
#define RLDB_SCALAR(Kind, ...) case ExprKind::Kind:
#define RLDB_TENSOR(Kind, ...) case ExprKind::Kind:
#define RLDB_NAME(Kind, ...) case ExprKind::Kind:
#define RLDB_ATOM(Kind, ...) case ExprKind::Kind:
#define RLDB_FUNCTION(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      break;  // distinguished by the children, or by identity
  }
  return 0;
}

}  // namespace

bool expr_equal(const Expr* a, const Expr* b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind) return false;
  if (a->kind == NodeKind::IntImm) return same_data(a, b);
  if (isa<Var>(a)) return false;
  struct Pair {
    const Expr* a;
    const Expr* b;
  };
  std::vector<Pair> stack{{a, b}};
  std::vector<const Expr*> left;
  while (!stack.empty()) {
    const Pair p = stack.back();
    stack.pop_back();
    support::poll();
    if (p.a == p.b) continue;
    if (!p.a || !p.b || p.a->kind != p.b->kind) return false;
    left.clear();
    if (!scalar_children(p.a, [&](const Expr* e) { left.push_back(e); }) || !same_data(p.a, p.b)) return false;
    std::size_t i = 0;
    scalar_children(p.b, [&](const Expr* e) { stack.push_back({left[i++], e}); });
  }
  return true;
}

std::uint64_t expr_hash(const Expr* e) {
  if (const auto* i = as<IntImm>(e)) return mix(std::uint64_t(e->kind), data_hash(i));
  std::vector<const Expr*> stack{e};
  std::uint64_t h = 0;
  while (!stack.empty()) {
    const Expr* n = stack.back();
    stack.pop_back();
    support::poll();
    h = mix(h, std::uint64_t(n->kind));
    const std::size_t before = stack.size();
    const bool known = scalar_children(n, [&](const Expr* c) { stack.push_back(c); });
    h = mix(h, known ? data_hash(n) + stack.size() - before : std::uint64_t(reinterpret_cast<std::uintptr_t>(n)));
  }
  return h;
}

bool attr_equal(const Attr* a, const Attr* b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->items.size() != b->items.size() || a->fields.size() != b->fields.size())
    return false;
  switch (a->kind) {
    case AttrKind::None:
      return true;
    case AttrKind::Bool:
    case AttrKind::Int:
      return a->integer == b->integer;
    case AttrKind::Float:
      return a->floating == b->floating || (a->floating != a->floating && b->floating != b->floating);
    case AttrKind::String:
      return a->string == b->string;
    case AttrKind::DType:
      return a->dtype == b->dtype;
    case AttrKind::Expr:
      return expr_equal(static_cast<const Expr*>(a->node), static_cast<const Expr*>(b->node));
    case AttrKind::Node:
      return a->node == b->node || structural_equal(a->node, b->node);
    case AttrKind::Type:
      return a->type == b->type;
    case AttrKind::Opaque:
      if (a->string != b->string) return false;
      break;
    case AttrKind::List:
    case AttrKind::Dict:
      break;
  }
  for (std::size_t i = 0; i < a->items.size(); ++i)
    if (!attr_equal(a->items[i], b->items[i])) return false;
  for (const NamedAttr& f : a->fields)
    if (const Attr* other = find_attr(b->fields, f.name); !other || !attr_equal(f.value, other)) return false;
  return true;
}

}  // namespace rldb::ir
