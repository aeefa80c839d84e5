// Sizes of expressions and types, so that growth by substitution is refused in time.
#include "rldb/ir/size.h"

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/cancel.h"
#include "rldb/support/integer.h"

namespace rldb::ir {

namespace {

constexpr std::size_t kHuge = std::size_t(1) << 62;

std::size_t sum(std::size_t a, std::size_t b) { return std::min(kHuge, a + b); }

// The value of a dimension with 1 for every variable, or nullopt when it overflows int64 on the way or contains
// anything but integer arithmetic. `wide` tells the two apart.
class AtOnes {
 public:
  std::optional<std::int64_t> value(const Expr* e) {
    if (const auto i = const_int(e)) return i;
    if (isa<Var>(e)) return 1;
    if (const auto* c = as<CastExpr>(e)) return value(c->value);
    const auto* b = as<BinaryExpr>(e);
    if (!b || ++depth_ > kMaxDepth) return std::nullopt;
    const auto x = value(b->a);
    const auto y = x ? value(b->b) : std::nullopt;
    --depth_;
    if (!y) return std::nullopt;
    return combined(b->op(), *x, *y);
  }
  bool wide() const { return wide_; }

 private:
  static constexpr int kMaxDepth = 2'000;

  std::optional<std::int64_t> combined(BinaryKind kind, std::int64_t x, std::int64_t y) {
    std::int64_t out = 0;
    bool overflow = false;
    if (kind == BinaryKind::Add) {
      overflow = __builtin_add_overflow(x, y, &out);
    } else if (kind == BinaryKind::Sub) {
      overflow = __builtin_sub_overflow(x, y, &out);
    } else if (kind == BinaryKind::Mul) {
      overflow = __builtin_mul_overflow(x, y, &out);
    } else if (kind == BinaryKind::Min) {
      out = std::min(x, y);
    } else if (kind == BinaryKind::Max) {
      out = std::max(x, y);
    } else if (kind == BinaryKind::FloorDiv && y > 0) {
      out = support::floor_div(x, y);
    } else {
      return std::nullopt;  // a remainder, say: it is no larger than its operand
    }
    wide_ = wide_ || overflow;
    return overflow ? std::nullopt : std::optional(out);
  }

  int depth_ = 0;
  bool wide_ = false;
};

}  // namespace

std::size_t expr_size(const Expr* e, std::size_t limit) {
  if (e == nullptr || isa<IntImm>(e) || isa<Var>(e)) return 1;
  std::size_t n = 0;
  std::vector<const Node*> stack{e};
  while (!stack.empty() && n <= limit) {
    const Node* top = stack.back();
    stack.pop_back();
    ++n;
    for_each_use(top, [&](const Node* child) { stack.push_back(child); });
  }
  return std::min(n, limit + 1);
}

bool overflows(const Expr* dim) {
  if (isa<IntImm>(dim) || isa<Var>(dim)) return false;
  AtOnes at;
  at.value(dim);
  return at.wide();
}

std::size_t TypeBudget::dims_size(Span<const Expr*> dims) {
  std::size_t n = 1;
  for (const Expr* d : dims) n += expr_size(d);
  return n;
}

TypeBudget::Extent TypeBudget::extent_of(const Type* t) {
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return {};
    case TypeKind::Shape:
      return {dims_size(as<ShapeType>(t)->values), 1};
    case TypeKind::Tensor:
      return {dims_size(as<TensorType>(t)->shape), 1};
    case TypeKind::DTensor:
      return {1 + dims_size(as<DTensorType>(t)->tensor->shape), 1};
    case TypeKind::Tuple:
    case TypeKind::Func:
      break;
  }
  if (const auto known = extents_.find(t); known != extents_.end()) return known->second;
  support::poll();
  Extent whole;
  const auto add = [&](const Type* part) {
    const Extent e = extent_of(part);
    whole.size = sum(whole.size, e.size);
    whole.depth = std::max(whole.depth, e.depth + 1);
  };
  if (const auto* f = as<FuncType>(t)) {
    for (const Type* p : f->params) add(p);
    add(f->ret);
  } else {
    for (const Type* field : as<TupleType>(t)->fields) add(field);
  }
  extents_.emplace(t, whole);
  return whole;
}

std::optional<source::Message> TypeBudget::check_dims(std::string_view name, Span<const Expr*> dims) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (isa<IntImm>(dims[i]) || isa<Var>(dims[i])) continue;
    // First: an overflowing dim stays unsimplified, and is long for that reason.
    if (overflows(dims[i])) return source::message(diag::DimOverflow, i, name);
    if (expr_size(dims[i]) > kMaxDimSize) return source::message(diag::DimTooLarge, i, name, kMaxDimSize);
  }
  return std::nullopt;
}

std::optional<source::Message> TypeBudget::check(std::string_view name, const Type* t) {
  if (good_.count(t)) return std::nullopt;
  std::optional<source::Message> found;
  switch (t->kind) {
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Pointer:
      return found;
    case TypeKind::Shape:
      found = check_dims(name, as<ShapeType>(t)->values);
      break;
    case TypeKind::Tensor:
      found = check_dims(name, as<TensorType>(t)->shape);
      break;
    case TypeKind::DTensor:
      found = check_dims(name, as<DTensorType>(t)->tensor->shape);
      break;
    case TypeKind::Tuple:
      for (const Type* field : as<TupleType>(t)->fields)
        if (!found) found = check(name, field);
      break;
    case TypeKind::Func:
      for (const Type* p : as<FuncType>(t)->params)
        if (!found) found = check(name, p);
      if (!found) found = check(name, as<FuncType>(t)->ret);
      break;
  }
  if (found) return found;
  const Extent extent = extent_of(t);
  if (extent.depth > kMaxTypeDepth) return source::message(diag::TypeTooDeep, name, extent.depth, kMaxTypeDepth);
  if (extent.size > kMaxTypeSize) return source::message(diag::TypeTooLarge, name, extent.size, kMaxTypeSize);
  good_.insert(t);
  return std::nullopt;
}

std::optional<source::Message> TypeBudget::add(std::string_view name, const Type* type) {
  if (type == nullptr) return std::nullopt;
  if (type != last_) {
    if (auto found = check(name, type)) return found;
    last_ = type;
    last_size_ = size_of(type);
  }
  total_ += last_size_;
  if (total_ <= kMaxTypesSize) return std::nullopt;
  return source::message(diag::TypesTooLarge, name, total_, kMaxTypesSize);
}

}  // namespace rldb::ir
