// Conditions solved for one variable.
#include "tir_passes/condition_interval.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "rldb/ir/comparison.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

constexpr int kMaxLinearDepth = 500;

// Whether sums of some such numbers stay in the dtype.
bool is_far_from_limits(DType t, std::int64_t n) {
  if (t.bits < 8) return false;
  const std::int64_t most = std::int64_t(1) << (t.bits - 4);
  return -most < n && n < most;
}

// At least every factor and every summand of the expression multiplied out, whatever order its numbers are added up
// in; kMaxWeight for more than that.
constexpr std::int64_t kMaxWeight = std::int64_t(1) << 62;

std::int64_t weight(const Expr* e, int depth = 0) {
  std::int64_t out = 1;
  if (depth > kMaxLinearDepth) return kMaxWeight;
  if (const auto n = const_int(e)) {
    out = *n <= -kMaxWeight ? kMaxWeight : std::abs(*n);
  } else if (const auto* b = as<BinaryExpr>(e)) {
    const std::int64_t x = weight(b->a, depth + 1), y = weight(b->b, depth + 1);
    const bool overflow =
        b->op() == BinaryKind::Mul ? __builtin_mul_overflow(x, y, &out) : __builtin_add_overflow(x, y, &out);
    if (overflow) return kMaxWeight;
  } else if (const auto* c = as<CastExpr>(e)) {
    out = weight(c->value, depth + 1);
  } else {
    walk(e, [&](const Node* n) {
      const auto* number = as<IntImm>(n);
      if (number) out = std::max(out, weight(number, depth + 1));
      return true;
    });
  }
  return std::min(out, kMaxWeight);
}

bool is_light(const Expr* e) { return is_far_from_limits(e->dtype(), weight(e)); }

// factor * v + rest
struct Linear {
  std::int64_t factor;
  const Expr* rest;
};

bool mentions(const Expr* e, const Var* v) {
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  return std::find(vars.begin(), vars.end(), v) != vars.end();
}

std::optional<Linear> linear(Context& ctx, const Expr* e, const Var* v, int depth = 0) {
  if (e == v) return Linear{1, ctx.int_imm(v->dtype(), 0)};
  if (!mentions(e, v)) return Linear{0, e};
  const auto* b = as<BinaryExpr>(e);
  if (!b || depth > kMaxLinearDepth) return std::nullopt;
  const BinaryKind op = b->op();
  if (op != BinaryKind::Add && op != BinaryKind::Sub && op != BinaryKind::Mul) return std::nullopt;
  const auto x = linear(ctx, b->a, v, depth + 1);
  const auto y = linear(ctx, b->b, v, depth + 1);
  if (!x || !y) return std::nullopt;
  Linear out{0, nullptr};
  bool overflow = false;
  if (op == BinaryKind::Add) {
    overflow = __builtin_add_overflow(x->factor, y->factor, &out.factor);
    out.rest = add(ctx, x->rest, y->rest);
  } else if (op == BinaryKind::Sub) {
    overflow = __builtin_sub_overflow(x->factor, y->factor, &out.factor);
    out.rest = sub(ctx, x->rest, y->rest);
  } else {
    const Linear& variable = x->factor != 0 ? *x : *y;
    const auto times = const_int(x->factor != 0 ? b->b : b->a);
    if (!times) return std::nullopt;
    overflow = __builtin_mul_overflow(variable.factor, *times, &out.factor);
    out.rest = mul(ctx, variable.rest, ctx.int_imm(v->dtype(), *times));
  }
  if (overflow) return std::nullopt;
  return out;
}

// An expression that is at least 0 exactly where `a op b` holds; null for other operators than the four orders.
const Expr* excess(Context& ctx, BinaryKind op, const Expr* a, const Expr* b) {
  const Expr* one = ctx.int_imm(a->dtype(), 1);
  if (op == BinaryKind::GE) return sub(ctx, a, b);
  if (op == BinaryKind::GT) return sub(ctx, sub(ctx, a, b), one);
  if (op == BinaryKind::LE) return sub(ctx, b, a);
  if (op == BinaryKind::LT) return sub(ctx, sub(ctx, b, a), one);
  return nullptr;
}

class Solver {
 public:
  Solver(Context& ctx, Analyzer& analyzer, const Var* v, const std::vector<Domain>& relaxed)
      : ctx_(ctx), analyzer_(analyzer), v_(v), relaxed_(relaxed) {}

  // Where the expression is at least 0 for every value of the relaxed variables.
  std::optional<Interval> non_negative(const Expr* e) {
    if (!is_light(e)) return std::nullopt;
    e = analyzer_.simplify(e);
    for (auto d = relaxed_.rbegin(); d != relaxed_.rend(); ++d) {
      const auto inner = linear(ctx_, e, d->var);
      if (!inner) return std::nullopt;
      if (inner->factor == 0) continue;
      const Expr* smallest = inner->factor > 0 ? d->min : d->max;
      if (!smallest || smallest->dtype() != e->dtype() || !is_light_product(smallest, inner->factor))
        return std::nullopt;
      e = add(ctx_, mul(ctx_, smallest, ctx_.int_imm(e->dtype(), inner->factor)), inner->rest);
      if (!is_light(e)) return std::nullopt;
      e = analyzer_.simplify(e);
    }
    const auto of_v = linear(ctx_, e, v_);
    if (!of_v) return of_quotient(e);
    if (of_v->factor == 0 || of_v->factor == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    const DType t = v_->dtype();
    const Expr* by = ctx_.int_imm(t, std::abs(of_v->factor));
    if (of_v->factor < 0) return Interval{nullptr, analyzer_.simplify(floor_div(ctx_, of_v->rest, by))};
    const Expr* up = sub(ctx_, sub(ctx_, by, ctx_.int_imm(t, 1)), of_v->rest);
    return Interval{analyzer_.simplify(floor_div(ctx_, up, by)), nullptr};
  }

 private:
  static bool is_light_product(const Expr* e, std::int64_t factor) {
    std::int64_t product = 0;
    return factor > -kMaxWeight && !__builtin_mul_overflow(weight(e), std::abs(factor), &product) &&
           is_far_from_limits(e->dtype(), product);
  }

  // factor * (x // d) + rest is at least 0: x is at least, or less than, a multiple of d.
  std::optional<Interval> of_quotient(const Expr* e) {
    const BinaryExpr* quotient = nullptr;
    walk(e, [&](const Node* n) {
      const auto* b = as<BinaryExpr>(n);
      if (!quotient && b && b->op() == BinaryKind::FloorDiv && mentions(b->a, v_)) quotient = b;
      return quotient == nullptr;
    });
    const auto d = quotient ? const_int(quotient->b) : std::nullopt;
    if (!d || *d <= 0) return std::nullopt;
    const Var* q = ctx_.var("q", quotient->type);
    const auto of_q = linear(ctx_, Replaced(ctx_, quotient, q).rewrite(e), q);
    if (!of_q || of_q->factor == 0 || of_q->factor == std::numeric_limits<std::int64_t>::min() ||
        mentions(of_q->rest, v_))
      return std::nullopt;
    const auto number = [&](std::int64_t n) { return ctx_.int_imm(e->dtype(), n); };
    const Expr* by = number(std::abs(of_q->factor));
    if (of_q->factor < 0) {
      const Expr* most = analyzer_.simplify(floor_div(ctx_, of_q->rest, by));
      if (!is_small(most, *d)) return std::nullopt;
      const Expr* last = add(ctx_, mul(ctx_, most, number(*d)), number(*d - 1));
      return non_negative(sub(ctx_, last, quotient->a));
    }
    const Expr* least = analyzer_.simplify(floor_div(ctx_, sub(ctx_, sub(ctx_, by, number(1)), of_q->rest), by));
    if (!is_small(least, *d)) return std::nullopt;
    return non_negative(sub(ctx_, quotient->a, mul(ctx_, least, number(*d))));
  }

  // Whether the product is known to be so small that a border computed of it does not wrap.
  bool is_small(const Expr* e, std::int64_t times) {
    const Bounds range = analyzer_.bounds(e);
    std::int64_t low = 0, high = 0;
    return range.min && range.max && !__builtin_mul_overflow(*range.min, times, &low) &&
           !__builtin_mul_overflow(*range.max, times, &high) && is_far_from_limits(e->dtype(), low) &&
           is_far_from_limits(e->dtype(), high);
  }

  // An expression with a variable in the place of a part.
  class Replaced : public Rewriter {
   public:
    Replaced(Context& ctx, const Expr* part, const Var* by) : Rewriter(ctx), part_(part), by_(by) {}

   protected:
    const Expr* visit_expr(const Expr* e) override { return expr_equal(e, part_) ? by_ : default_expr(e); }

   private:
    const Expr* part_;
    const Var* by_;
  };

  Context& ctx_;
  Analyzer& analyzer_;
  const Var* v_;
  const std::vector<Domain>& relaxed_;
};

}  // namespace

std::optional<Interval> interval_where(Context& ctx, Analyzer& analyzer, const BinaryExpr* comparison, bool holds,
                                       const Var* v, const std::vector<Domain>& relaxed) {
  const Expr* a = comparison->a;
  const Expr* b = comparison->b;
  if (a->dtype() != v->dtype() || b->dtype() != v->dtype() || !v->dtype().is_int()) return std::nullopt;
  const auto order = comparison_of(comparison);
  if (!order || !is_light(a) || !is_light(b)) return std::nullopt;
  const BinaryKind op = binary_kind(holds ? *order : opposite(*order));
  Solver solver(ctx, analyzer, v, relaxed);
  if (op != BinaryKind::EQ) {
    const Expr* e = excess(ctx, op, a, b);
    return e ? solver.non_negative(e) : std::nullopt;
  }
  const auto above = solver.non_negative(sub(ctx, a, b));
  const auto below = solver.non_negative(sub(ctx, b, a));
  if (!above || !below) return std::nullopt;
  return Interval{above->lower ? above->lower : below->lower, above->upper ? above->upper : below->upper};
}

}  // namespace rldb::passes
