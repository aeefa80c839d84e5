// Boxes of detection: code shared by suppression and counting.
#pragma once

#include "ops/legal/statements.h"

namespace rldb::ops::legal::boxes {

using ir::BinaryKind;

// The value in the fields of removed boxes.
inline constexpr double kSuppressed = -1;

inline const Expr* number(ir::Context& ctx, DType t, double v) { return ctx.literal(t, v); }
inline const Expr* gt(ir::Context& ctx, const Expr* a, const Expr* b) { return ir::compare(ctx, BinaryKind::GT, a, b); }
inline const Expr* ge(ir::Context& ctx, const Expr* a, const Expr* b) { return ir::compare(ctx, BinaryKind::GE, a, b); }
inline const Expr* both(ir::Context& ctx, const Expr* a, const Expr* b) { return a ? ir::logical_and(ctx, a, b) : b; }

struct Box {
  const Expr *left, *top, *right, *bottom;
};

// Two opposite corners, in any order.
inline Box box_of(ir::Context& ctx, const std::function<const Expr*(int)>& coordinate) {
  const auto low = [&](int a) { return ir::min(ctx, coordinate(a), coordinate(a + 2)); };
  const auto high = [&](int a) { return ir::max(ctx, coordinate(a), coordinate(a + 2)); };
  return {low(0), low(1), high(0), high(1)};
}

// The intersection of two boxes over their union; 0 when the union is empty.
inline const Expr* overlap(ir::Context& ctx, const Box& a, const Box& b, const Expr* zero = nullptr) {
  const auto sub = [&](const Expr* x, const Expr* y) { return ir::sub(ctx, x, y); };
  if (!zero) zero = number(ctx, a.left->dtype(), 0);
  const auto common = [&](const Expr* a_low, const Expr* a_high, const Expr* b_low, const Expr* b_high) {
    return ir::max(ctx, zero, sub(ir::min(ctx, a_high, b_high), ir::max(ctx, a_low, b_low)));
  };
  const auto area_of = [&](const Box& x) { return ir::mul(ctx, sub(x.right, x.left), sub(x.bottom, x.top)); };
  const Expr* area = ir::mul(ctx, common(a.top, a.bottom, b.top, b.bottom), common(a.left, a.right, b.left, b.right));
  const Expr* all = sub(ir::add(ctx, area_of(a), area_of(b)), area);
  return ctx.select(ir::compare(ctx, BinaryKind::LE, all, zero), zero, ir::div(ctx, area, all));
}

}  // namespace rldb::ops::legal::boxes
