// Intervals of sums, products, quotients and comparisons.
#include "debug/provenance/interval.h"

#include <algorithm>

#include "rldb/support/integer.h"

namespace rldb::debug {

using ir::as;
using ir::BinaryKind;

namespace {

std::int64_t bounded(std::int64_t v) { return std::clamp(v, Interval::kLow, Interval::kHigh); }

// A product that does not fit is beyond every bound.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t p = 0;
  if (__builtin_mul_overflow(a, b, &p)) return (a < 0) == (b < 0) ? Interval::kHigh : Interval::kLow;
  return bounded(p);
}

using support::floor_div;

Interval times(Interval a, Interval b) {
  const std::int64_t all[] = {product(a.low, b.low), product(a.low, b.high), product(a.high, b.low),
                              product(a.high, b.high)};
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
}

Interval quotient(Interval a, Interval b) {
  if (!b.is_point() || b.low <= 0) return {};
  return {a.low <= Interval::kLow ? Interval::kLow : floor_div(a.low, b.low),
          a.high >= Interval::kHigh ? Interval::kHigh : floor_div(a.high, b.low)};
}

Interval remainder(Interval a, Interval b) {
  if (!b.is_point() || b.low <= 0) return {};
  const bool finite = a.low > Interval::kLow && a.high < Interval::kHigh;
  if (finite && floor_div(a.low, b.low) == floor_div(a.high, b.low)) {
    const std::int64_t base = floor_div(a.low, b.low) * b.low;
    return {a.low - base, a.high - base};
  }
  return {0, b.low - 1};
}

Interval truth(bool surely, bool never) { return surely ? Interval::of(1) : never ? Interval::of(0) : Interval{0, 1}; }

Interval compare(BinaryKind op, Interval a, Interval b) {
  if (op == BinaryKind::LT) return truth(a.high < b.low, a.low >= b.high);
  if (op == BinaryKind::LE) return truth(a.high <= b.low, a.low > b.high);
  if (op == BinaryKind::GT) return truth(a.low > b.high, a.high <= b.low);
  if (op == BinaryKind::GE) return truth(a.low >= b.high, a.high < b.low);
  if (op == BinaryKind::EQ)
    return truth(a.is_point() && b.is_point() && a.low == b.low, a.high < b.low || b.high < a.low);
  if (op == BinaryKind::NE)
    return truth(a.high < b.low || b.high < a.low, a.is_point() && b.is_point() && a.low == b.low);
  return {};
}

Interval combine(BinaryKind op, Interval a, Interval b) {
  if (op == BinaryKind::Add) return {bounded(a.low + b.low), bounded(a.high + b.high)};
  if (op == BinaryKind::Sub) return {bounded(a.low - b.high), bounded(a.high - b.low)};
  if (op == BinaryKind::Mul) return times(a, b);
  if (op == BinaryKind::FloorDiv) return quotient(a, b);
  if (op == BinaryKind::FloorMod) return remainder(a, b);
  if (op == BinaryKind::Div) return a.low >= 0 ? quotient(a, b) : Interval{};
  if (op == BinaryKind::Mod) return a.low >= 0 ? remainder(a, b) : Interval{};
  if (op == BinaryKind::Min) return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (op == BinaryKind::Max) return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (op == BinaryKind::And) return truth(a.low > 0 && b.low > 0, a.high <= 0 || b.high <= 0);
  if (op == BinaryKind::Or) return truth(a.low > 0 || b.low > 0, a.high <= 0 && b.high <= 0);
  return compare(op, a, b);
}

// Of integers, or comparisons of integers: the arithmetic above holds.
bool is_integer(const ir::Expr* e) { return !e->dtype().is_float() && e->dtype().lanes == 1; }

}  // namespace

Interval interval_of(const ir::Expr* e, const Intervals& known,
                     const std::function<std::optional<std::int64_t>(const ir::Expr*)>& exact) {
  if (const auto* imm = as<ir::IntImm>(e)) return Interval::of(imm->value);
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = known.find(v);
    return it == known.end() ? Interval{} : it->second;
  }
  if (const auto* b = as<ir::BinaryExpr>(e); b && is_integer(b->a) && is_integer(b->b))
    return combine(b->op(), interval_of(b->a, known, exact), interval_of(b->b, known, exact));
  if (const auto* c = as<ir::NotExpr>(e)) {
    const Interval a = interval_of(c->a, known, exact);
    return truth(a.high <= 0, a.low > 0);
  }
  // A conversion between integers keeps a value that both types hold.
  if (const auto* c = as<ir::CastExpr>(e); c && is_integer(c->value) && c->dtype().bits >= 32 && is_integer(c)) {
    const Interval a = interval_of(c->value, known, exact);
    if (a.low >= -(std::int64_t(1) << 31) && a.high < (std::int64_t(1) << 31) && (a.low >= 0 || c->dtype().is_int()))
      return a;
  }
  const auto value = exact(e);
  return value ? Interval::of(*value) : Interval{};
}

}  // namespace rldb::debug
