// Rules about minima, maxima, common factors, quotients and comparisons, as TVM writes their results.
#include "ir/arith/text_rules.h"

#include <array>
#include <optional>

#include "ir/arith/arith_impl.h"
#include "ir/arith/scalar_fold.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::arith {

namespace {

// Nodes nested deeper are left alone.
constexpr int kMaxNesting = 150;
// Rewrites that follow from one node, as in TVM.
constexpr int kMaxRewrites = 5;

bool is_extreme(const Expr* e) { return e->kind == BinaryKind::Min || e->kind == BinaryKind::Max; }
bool same_value(const Expr* a, const Expr* b) { return a == b || (expr_equal(a, b) && is_pure(a)); }

// x + c, where c may be negative; c is 0 for anything else.
struct Offset {
  const Expr* x;
  std::int64_t c;
};
Offset offset_of(const Expr* e) {
  const auto* b = as<BinaryExpr>(e);
  const auto c = b ? const_int(b->b) : std::nullopt;
  if (c && *c != INT64_MIN && e->kind == BinaryKind::Add) return {b->a, *c};
  if (c && *c != INT64_MIN && e->kind == BinaryKind::Sub) return {b->a, -*c};
  return {e, 0};
}

// x * c; also 0 - x * c. c is 0 for anything else.
struct Scaled {
  const Expr* x;
  std::int64_t c;
};
Scaled scaled_of(const Expr* e) {
  const auto* b = as<BinaryExpr>(e);
  if (!b) return {e, 0};
  if (e->kind == BinaryKind::Mul)
    if (const auto c = const_int(b->b); c && *c != INT64_MIN) return {b->a, *c};
  if (e->kind == BinaryKind::Sub && is_const(b->a, 0)) {
    const Scaled inner = scaled_of(b->b);
    return {inner.x, -inner.c};
  }
  return {e, 0};
}

class TextRules final : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  const Expr* visit_expr(const Expr* e) override {
    if (isa<IntImm>(e) || depth_ > kMaxNesting) return e;
    ++depth_;
    const Expr* made = default_expr(e);
    --depth_;
    const auto* b = as<BinaryExpr>(made);
    if (!b || !is_index(made)) return made;
    left_ = kMaxRewrites;
    const Expr* other = rule(b->op(), b->a, b->b);
    return other ? other : made;
  }

  // Null: no rule applies.
  const Expr* rule(BinaryKind kind, const Expr* a, const Expr* b) {
    if (const_int(a) && const_int(b)) return nullptr;
    if (kind == BinaryKind::Add) return added(a, b);
    if (kind == BinaryKind::Sub) return subtracted(a, b);
    if (kind == BinaryKind::Mul) return multiplied(a, b);
    return kind == BinaryKind::Min || kind == BinaryKind::Max ? extreme(kind, a, b) : nullptr;
  }
  const Expr* again(BinaryKind kind, const Expr* a, const Expr* b) {
    if (left_ > 0) {
      --left_;
      if (const Expr* made = rule(kind, a, b)) return made;
    }
    return plain(kind, a, b);
  }

  // The operator itself, with literals folded.
  const Expr* plain(BinaryKind kind, const Expr* a, const Expr* b) {
    const auto x = const_int(a), y = const_int(b);
    if (x && y)
      if (const auto v = fold_int(kind, a->dtype(), *x, *y)) return ctx_.int_imm(a->dtype(), *v);
    if (y == std::optional<std::int64_t>(0) && (kind == BinaryKind::Add || kind == BinaryKind::Sub)) return a;
    if (x == std::optional<std::int64_t>(0) && kind == BinaryKind::Add) return b;
    return ctx_.binary(kind, a, b);
  }
  const Expr* sum(const Expr* a, const Expr* b) { return plain(BinaryKind::Add, a, b); }
  const Expr* difference(const Expr* a, const Expr* b) { return plain(BinaryKind::Sub, a, b); }
  const Expr* number(const Expr* like, std::int64_t v) { return ctx_.int_imm(like->dtype(), v); }
  const Expr* moved(const Expr* x, std::int64_t c) {
    return c < 0 ? difference(x, number(x, -c)) : sum(x, number(x, c));
  }
  const Expr* zero_less(const Expr* x) { return difference(number(x, 0), x); }

  // The rest of a sum of two without `x`; null if `x` is neither.
  static const Expr* other_addend(const Expr* e, const Expr* x) {
    const auto* b = as<BinaryExpr>(e);
    if (!b || e->kind != BinaryKind::Add) return nullptr;
    if (same_value(b->a, x)) return b->b;
    return same_value(b->b, x) ? b->a : nullptr;
  }
  // y of y - x.
  static const Expr* minuend(const Expr* e, const Expr* x) {
    const auto* b = as<BinaryExpr>(e);
    return b && e->kind == BinaryKind::Sub && same_value(b->b, x) ? b->a : nullptr;
  }

  // x * (y * 4) is (x * y) * 4.
  const Expr* multiplied(const Expr* a, const Expr* b) {
    const auto* m = as<BinaryExpr>(b);
    if (!m || b->kind != BinaryKind::Mul || !const_int(m->b)) return nullptr;
    return ctx_.binary(BinaryKind::Mul, ctx_.binary(BinaryKind::Mul, a, m->a), m->b);
  }

  // ---- sums ----

  const Expr* added(const Expr* a, const Expr* b) {
    if (is_extreme(a))
      if (const Expr* made = into_extreme(static_cast<const BinaryExpr*>(a), b)) return made;
    if (const_int(b)) {
      const Offset left = offset_of(a);
      std::int64_t c = 0;
      if (left.c == 0 || __builtin_add_overflow(left.c, *const_int(b), &c)) return nullptr;
      return moved(left.x, c);
    }
    if (const Expr* made = with_common_factor(BinaryKind::Add, a, b)) return made;
    const Offset x = offset_of(a), y = offset_of(b);
    if (x.c != 0) return offset_again(BinaryKind::Add, x.x, b, x.c);
    if (y.c != 0) return offset_again(BinaryKind::Add, a, y.x, y.c);
    if (is_extreme(b)) return again(BinaryKind::Add, b, a);
    return nullptr;
  }
  const Expr* offset_again(BinaryKind kind, const Expr* a, const Expr* b, std::int64_t c) {
    const Expr* x = again(kind, a, b);
    const Offset inner = offset_of(x);
    std::int64_t all = 0;
    return __builtin_add_overflow(inner.c, c, &all) ? moved(x, c) : moved(inner.x, all);
  }

  // min(x, y - z) + z is min(x + z, y).
  const Expr* into_extreme(const BinaryExpr* m, const Expr* z) {
    const BinaryKind kind = m->op();
    const auto whole = const_int(z);
    const Scaled part = scaled_of(z);
    const auto without = [&](const Expr* side) -> const Expr* {
      if (const Expr* y = minuend(side, z)) return y;
      const Offset o = offset_of(side);
      if (whole && o.c != 0 && o.c == -*whole) return o.x;
      const auto* s = as<BinaryExpr>(side);
      if (part.c == 0 || !s) return nullptr;
      const Scaled right = scaled_of(s->b);
      const std::int64_t c = side->kind == BinaryKind::Sub ? -right.c : right.c;
      const bool is_sum = side->kind == BinaryKind::Add || side->kind == BinaryKind::Sub;
      return is_sum && right.c != 0 && c == -part.c && same_value(right.x, part.x) ? s->a : nullptr;
    };
    if (const Expr* y = without(m->b)) return plain(kind, sum(m->a, z), y);
    if (const Expr* x = without(m->a)) return part.c != 0 ? plain(kind, sum(m->b, z), x) : plain(kind, x, sum(m->b, z));
    return nullptr;
  }

  // x * y + x * z is (y + z) * x. A literal factor would be multiplied out again.
  const Expr* with_common_factor(BinaryKind kind, const Expr* a, const Expr* b) {
    const auto *p = as<BinaryExpr>(a), *q = as<BinaryExpr>(b);
    const bool left = p && a->kind == BinaryKind::Mul && !const_int(p->b);
    const bool right = q && b->kind == BinaryKind::Mul && !const_int(q->b);
    const auto times = [&](const Expr* x, const Expr* y, const Expr* z) {
      return ctx_.binary(BinaryKind::Mul, plain(kind, y, z), x);
    };
    const Expr* one = number(a, 1);
    if (left && same_value(p->a, b)) return times(b, p->b, one);
    if (left && same_value(p->b, b)) return times(b, p->a, one);
    if (right && (same_value(q->a, a) || same_value(q->b, a))) {
      const Expr* y = same_value(q->a, a) ? q->b : q->a;
      return kind == BinaryKind::Add ? times(a, y, one) : times(a, one, y);
    }
    if (!left || !right) return nullptr;
    const std::array<std::array<const Expr*, 4>, 4> forms{
        {{p->a, p->b, q->a, q->b}, {p->b, p->a, q->a, q->b}, {p->a, p->b, q->b, q->a}, {p->b, p->a, q->b, q->a}}};
    for (const auto& [x, y, other, z] : forms)
      if (same_value(x, other)) return times(x, y, z);
    return nullptr;
  }

  // ---- differences ----

  const Expr* subtracted(const Expr* a, const Expr* b) {
    if (const_int(b)) return const_int(a) ? nullptr : constant_subtracted(a, b);
    if (const Expr* made = extreme_less_operand(a, b)) return made;
    if (const Expr* made = with_common_factor(BinaryKind::Sub, a, b)) return made;
    if (const Expr* made = extreme_less_addend(a, b)) return made;
    if (const Expr* made = quotients(a, b)) return made;
    const Offset x = offset_of(a), y = offset_of(b);
    if (x.c != 0) return offset_again(BinaryKind::Sub, x.x, b, x.c);
    if (y.c != 0) return offset_again(BinaryKind::Sub, a, y.x, -y.c);
    const auto* d = as<BinaryExpr>(b);
    if (d && b->kind == BinaryKind::Sub) return again(BinaryKind::Sub, sum(a, d->b), d->a);
    const Scaled part = scaled_of(b);
    if (part.c == 0 || !is_extreme(a)) return nullptr;
    return into_extreme(static_cast<const BinaryExpr*>(a), ctx_.binary(BinaryKind::Mul, part.x, number(b, -part.c)));
  }
  const Expr* constant_subtracted(const Expr* a, const Expr* b) {
    const std::int64_t c = *const_int(b);
    if (c == INT64_MIN) return nullptr;
    return is_extreme(a) ? into_extreme(static_cast<const BinaryExpr*>(a), number(b, -c)) : nullptr;
  }

  // min(x, y) - y, x - max(y, x) and their like.
  const Expr* extreme_less_operand(const Expr* a, const Expr* b) {
    const Expr* zero = number(a, 0);
    if (is_extreme(a)) {
      const auto* m = static_cast<const BinaryExpr*>(a);
      if (same_value(m->b, b)) return plain(m->op(), difference(m->a, b), zero);
      if (same_value(m->a, b)) return plain(m->op(), zero, difference(m->b, b));
    }
    if (!is_extreme(b)) return nullptr;
    const auto* m = static_cast<const BinaryExpr*>(b);
    const BinaryKind turned = m->op() == BinaryKind::Min ? BinaryKind::Max : BinaryKind::Min;
    if (same_value(m->b, a)) return plain(turned, difference(a, m->a), zero);
    if (same_value(m->a, a)) return plain(turned, zero, difference(a, m->b));
    return nullptr;
  }

  // min(x + y, z) - x is min(y, z - x); x - min(x + y, z) is max(0 - y, x - z).
  const Expr* extreme_less_addend(const Expr* a, const Expr* b) {
    if (is_extreme(a)) {
      const auto* m = static_cast<const BinaryExpr*>(a);
      if (const Expr* y = addend_or_offset(m->a, b)) return plain(m->op(), y, difference(m->b, b));
      if (const Expr* y = addend_or_offset(m->b, b)) return plain(m->op(), difference(m->a, b), y);
    }
    if (!is_extreme(b)) return nullptr;
    const auto* m = static_cast<const BinaryExpr*>(b);
    const BinaryKind turned = m->op() == BinaryKind::Min ? BinaryKind::Max : BinaryKind::Min;
    if (const Expr* y = addend_or_offset(m->a, a)) return plain(turned, zero_less(y), difference(a, m->b));
    if (const Expr* y = addend_or_offset(m->b, a)) return plain(turned, difference(a, m->a), zero_less(y));
    return nullptr;
  }
  const Expr* addend_or_offset(const Expr* e, const Expr* x) {
    const Offset o = offset_of(e);
    if (o.c != 0 && same_value(o.x, x)) return number(e, o.c);
    return other_addend(e, x);
  }

  // (x + c1) // c - (x + c2) // c is ((x + c2 % c) % c + (c1 - c2)) // c.
  const Expr* quotients(const Expr* a, const Expr* b) {
    const auto *p = as<BinaryExpr>(a), *q = as<BinaryExpr>(b);
    if (!p || !q || a->kind != BinaryKind::FloorDiv || b->kind != BinaryKind::FloorDiv) return nullptr;
    const auto c = const_int(p->b);
    if (!c || *c <= 0 || const_int(q->b) != c) return nullptr;
    const Offset x = offset_of(p->a), y = offset_of(q->a);
    std::int64_t gap = 0;
    if (x.c == 0 || !same_value(x.x, y.x) || __builtin_sub_overflow(x.c, y.c, &gap)) return nullptr;
    const Expr* rest = plain(BinaryKind::FloorMod, moved(x.x, ir::floor_mod(y.c, *c)), p->b);
    return plain(BinaryKind::FloorDiv, moved(rest, gap), p->b);
  }

  // ---- minima and maxima ----

  const Expr* extreme(BinaryKind kind, const Expr* a, const Expr* b) {
    const bool is_min = kind == BinaryKind::Min;
    const BinaryKind turned = is_min ? BinaryKind::Max : BinaryKind::Min;
    if (same_value(a, b)) return a;
    const auto c2 = const_int(b);
    if (const Expr* made = distributed(kind, a, b)) return made;
    const Scaled x = scaled_of(a), y = scaled_of(b);
    if (x.c != 0 && y.c == x.c)
      return ctx_.binary(BinaryKind::Mul, plain(x.c > 0 ? kind : turned, x.x, y.x), number(a, x.c));
    if (x.c != 0 && c2 && *c2 % x.c == 0)
      return ctx_.binary(BinaryKind::Mul, plain(x.c > 0 ? kind : turned, x.x, number(a, *c2 / x.c)), number(a, x.c));
    if (a->kind == kind) {
      const auto* m = static_cast<const BinaryExpr*>(a);
      if (const_int(m->b) && c2) return plain(kind, m->a, plain(kind, m->b, b));
      if (const_int(m->b)) return again(kind, again(kind, m->a, b), m->b);
    }
    const auto* d = as<BinaryExpr>(a);
    const auto c1 = d && a->kind == BinaryKind::Sub ? const_int(d->a) : std::nullopt;
    std::int64_t gap = 0;
    if (c1 && c2 && *c2 != 0 && scaled_of(d->b).c == 0 && !__builtin_sub_overflow(*c1, *c2, &gap))
      return difference(d->a, again(turned, d->b, number(a, gap)));
    return nullptr;
  }

  // min(y + x, z + x) is min(y, z) + x, and so for differences.
  const Expr* distributed(BinaryKind kind, const Expr* a, const Expr* b) {
    const auto *p = as<BinaryExpr>(a), *q = as<BinaryExpr>(b);
    if (!p || !q || a->kind != b->kind) return nullptr;
    if (a->kind == BinaryKind::Add && !const_int(p->b)) {
      if (const Expr* z = other_addend(b, p->b)) return sum(plain(kind, p->a, z), p->b);
      if (const Expr* z = other_addend(b, p->a)) return sum(plain(kind, p->b, z), p->a);
    }
    if (a->kind == BinaryKind::Sub && !const_int(p->b)) {
      if (same_value(p->b, q->b)) return difference(plain(kind, p->a, q->a), p->b);
      const BinaryKind turned = kind == BinaryKind::Min ? BinaryKind::Max : BinaryKind::Min;
      if (same_value(p->a, q->a)) return difference(p->a, plain(turned, p->b, q->b));
    }
    return nullptr;
  }

  int depth_ = 0;
  int left_ = 0;
};

}  // namespace

const Expr* apply_text_rules(Context& ctx, const Expr* e) { return TextRules(ctx).rewrite(e); }

}  // namespace rldb::ir::arith
