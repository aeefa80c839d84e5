// Values that the translation computes itself: arithmetic of shapes and of small constants.
#include "onnx/ops/fold.h"

#include <algorithm>
#include <cmath>

#include "rldb/ir/arith.h"
#include "rldb/ir/op/arithmetic.h"
#include "rldb/ir/op/binary.h"
#include "rldb/ir/op/compare.h"
#include "rldb/ir/op/reduction.h"
#include "rldb/ir/op/unary.h"
#include "rldb/ir/walk.h"

namespace rldb::onnx::bodies {

namespace {

std::shared_ptr<const Known> short_value(std::shared_ptr<const Known> k) {
  return k && k->rank <= 1 && k->items.size() <= kMostFolded ? k : nullptr;
}

std::optional<double> number(const Expr* e) {
  if (const auto* f = ir::as<ir::FloatImm>(e)) return f->value;
  if (const auto v = int_of(e)) return double(*v);
  return std::nullopt;
}

// As the dtype would hold it.
const Expr* rounded(ir::Context& ctx, DType t, double v) {
  std::byte bytes[8];
  runtime::store_double(bytes, t, v);
  return ctx.float_imm(DType::Float(64), runtime::load_as_double(bytes, t));
}

const Expr* float_result(ir::Context& ctx, std::string_view op, DType t, const Expr* a, const Expr* b) {
  const auto x = number(a), y = number(b);
  if (!x || !y) return nullptr;
  if (op == op::Add) return rounded(ctx, t, *x + *y);
  if (op == op::Subtract) return rounded(ctx, t, *x - *y);
  if (op == op::Multiply) return rounded(ctx, t, *x * *y);
  if (op == op::Divide) return rounded(ctx, t, *x / *y);
  const bool nan = std::isnan(*x) || std::isnan(*y);
  if (op == op::Maximum) return rounded(ctx, t, nan ? *x + *y : std::max(*x, *y));
  if (op == op::Minimum) return rounded(ctx, t, nan ? *x + *y : std::min(*x, *y));
  return nullptr;
}

// A number as the dtype would hold it; anything else as it is. Null: it is beyond int64.
const Expr* wrapped(ir::Context& ctx, DType t, const Expr* e) {
  const auto v = int_of(e);
  if (!v || t.is_bool()) return e;
  std::byte bytes[8];
  runtime::store_int(bytes, t, *v);
  const std::int64_t held = runtime::load_as_int(bytes, t);
  return t.is_uint() && held < 0 ? nullptr : ctx.i64(held);
}

// Numbers of uint64 that int64 has not.
bool has_huge(const Known& k) {
  return k.dtype.is_uint() &&
         std::any_of(k.items.begin(), k.items.end(), [](const Expr* e) { return int_of(e).value_or(0) < 0; });
}

const Expr* truth(ir::Context& ctx, bool v) { return ctx.i64(v); }

// Proofs about arithmetic of dims, which are not negative.
class Proofs {
 public:
  Proofs(ir::Context& ctx, const Expr* a, const Expr* b) : ctx_(ctx), analyzer_(ctx), a_(a), b_(b) {
    std::vector<const ir::Var*> dims;
    ir::collect_vars(a, dims);
    ir::collect_vars(b, dims);
    for (const ir::Var* v : dims) analyzer_.mark_non_negative(v);
  }
  bool not_negative() { return is_at_least_zero(a_) && divisor_not_negative(); }
  bool divisor_not_negative() { return is_at_least_zero(b_); }
  // Division truncates: it rounds down what is not negative, and up what is not positive.
  const Expr* quotient() {
    if (is_at_least_zero(a_)) return ir::floor_div(ctx_, a_, b_);
    const Expr *zero = ctx_.i64(0), *opposite = ir::sub(ctx_, zero, a_);
    if (analyzer_.bounds(a_).max.value_or(1) <= 0) return ir::sub(ctx_, zero, ir::floor_div(ctx_, opposite, b_));
    return ir::sub(ctx_, ir::floor_div(ctx_, ir::max(ctx_, a_, zero), b_),
                   ir::floor_div(ctx_, ir::max(ctx_, opposite, zero), b_));
  }
  // The truth of a comparison, or null.
  const Expr* truth_of(std::string_view op) {
    if (op == op::Equal) return truth_of(analyzer_.prove_equal(a_, b_), analyzer_.prove_different(a_, b_));
    if (op == op::Less) return truth_of(proves(BinaryKind::LT), proves(BinaryKind::GE));
    if (op == op::LessEqual) return truth_of(proves(BinaryKind::LE), proves(BinaryKind::GT));
    if (op == op::Greater) return truth_of(proves(BinaryKind::GT), proves(BinaryKind::LE));
    if (op == op::GreaterEqual) return truth_of(proves(BinaryKind::GE), proves(BinaryKind::LT));
    return nullptr;
  }

 private:
  using BinaryKind = ir::BinaryKind;
  ir::Context& ctx_;
  ir::Analyzer analyzer_;
  const Expr* a_;
  const Expr* b_;

  bool is_at_least_zero(const Expr* e) { return analyzer_.bounds(e).min.value_or(-1) >= 0; }
  bool proves(BinaryKind kind) { return analyzer_.prove(ir::compare(ctx_, kind, a_, b_)); }
  const Expr* truth_of(bool yes, bool no) { return yes || no ? truth(ctx_, yes) : nullptr; }
};

// Of two numbers.
const Expr* number_result(ir::Context& ctx, std::string_view op, std::int64_t x, std::int64_t y) {
  if (op == op::Divide && y != 0) return ctx.i64(x / y);
  if (op == op::Mod && y != 0) return ctx.i64(x % y);
  if (op == op::FloorMod && y != 0) return ctx.i64((x % y + y) % y);
  if (op == op::Maximum) return ctx.i64(std::max(x, y));
  if (op == op::Minimum) return ctx.i64(std::min(x, y));
  if (op == op::Equal) return truth(ctx, x == y);
  if (op == op::Less) return truth(ctx, x < y);
  if (op == op::LessEqual) return truth(ctx, x <= y);
  if (op == op::Greater) return truth(ctx, x > y);
  if (op == op::GreaterEqual) return truth(ctx, x >= y);
  if (op == op::LogicalAnd) return truth(ctx, x && y);
  if (op == op::LogicalOr) return truth(ctx, x || y);
  return nullptr;
}

const Expr* int_result(ir::Context& ctx, std::string_view op, const Expr* a, const Expr* b) {
  const auto x = int_of(a), y = int_of(b);
  constexpr std::int64_t kSmall = std::int64_t(1) << 30;  // no overflow in what follows
  if ((x && std::abs(*x) >= kSmall) || (y && std::abs(*y) >= kSmall)) return nullptr;
  if (op == op::Add) return ir::add(ctx, a, b);
  if (op == op::Subtract) return ir::sub(ctx, a, b);
  if (op == op::Multiply) return ir::mul(ctx, a, b);
  if (x && y) return number_result(ctx, op, *x, *y);
  if (op == op::Maximum) return ir::max(ctx, a, b);
  if (op == op::Minimum) return ir::min(ctx, a, b);
  Proofs proofs(ctx, a, b);
  const bool divides = op == op::Divide || op == op::Mod || op == op::FloorMod;
  if (divides && (y ? *y <= 0 : !proofs.divisor_not_negative())) return nullptr;
  if (op == op::Divide) return proofs.quotient();
  if (op == op::FloorMod || (op == op::Mod && proofs.not_negative())) return ir::floor_mod(ctx, a, b);
  return proofs.truth_of(op);
}

bool is_comparison(std::string_view op) {
  return op == op::Equal || op == op::Less || op == op::LessEqual || op == op::Greater || op == op::GreaterEqual;
}

// An item of a scalar serves every place.
const Expr* item(const Known& k, std::size_t i) { return k.items.size() == 1 ? k.items[0] : k.items[i]; }

bool wide_enough(DType t) { return t.is_bool() || t.bits >= 32; }

}  // namespace

bool fold_negative(NodeContext& c) {
  const auto x = short_value(c.known(0));
  if (!x || !x->dtype.is_int()) return false;
  Known made{x->dtype, x->rank, {}};
  for (const Expr* e : x->items) {
    const auto v = int_of(e);
    if (v && *v == INT64_MIN) return false;
    made.items.push_back(v ? c.i64(-*v) : ir::sub(c.ctx, c.i64(0), e));
  }
  c.know(std::move(made));
  return true;
}

bool fold_unary(NodeContext& c) {
  const auto x = short_value(c.known(0));
  if (!x || !x->dtype.is_float()) return false;
  Known made{x->dtype, x->rank, {}};
  for (const Expr* e : x->items) {
    const auto v = number(e);
    if (!v) return false;
    made.items.push_back(c.ctx.float_imm(DType::Float(64), c.target == op::Ceil ? std::ceil(*v) : std::floor(*v)));
  }
  c.know(std::move(made));
  return true;
}

bool fold_binary(NodeContext& c) {
  const auto a = short_value(c.known_beside_sizes(0)), b = short_value(c.known_beside_sizes(1));
  if (!a || !b || a->dtype != b->dtype || !wide_enough(a->dtype)) return false;
  if (has_huge(*a) || has_huge(*b)) return false;
  const std::size_t size = std::max(a->items.size(), b->items.size());
  if (a->items.empty() || b->items.empty()) return false;
  if ((a->items.size() != 1 && a->items.size() != size) || (b->items.size() != 1 && b->items.size() != size))
    return false;
  Known made{is_comparison(c.target) ? DType::Bool() : a->dtype, std::max(a->rank, b->rank), {}};
  for (std::size_t i = 0; i < size; ++i) {
    const Expr *x = item(*a, i), *y = item(*b, i);
    const Expr* e =
        a->dtype.is_float() ? float_result(c.ctx, c.target, a->dtype, x, y) : int_result(c.ctx, c.target, x, y);
    if (e && !made.dtype.is_float()) e = wrapped(c.ctx, made.dtype, e);
    // Of sizes, a difference of unsigned integers may be below 0.
    const bool may_wrap = made.dtype.is_uint() && c.target == op::Subtract && e && !int_of(e);
    if (!e || may_wrap) return false;
    made.items.push_back(e);
  }
  for (std::size_t i = 0; i < 2; ++i) c.note_read(i);
  c.know(std::move(made));
  return true;
}

bool fold_cast(NodeContext& c, DType to) {
  const auto x = c.known(0);
  if (!x || x->items.size() > kMostFolded || !wide_enough(to) || has_huge(*x)) return false;
  Known made{to, x->rank, {}, x->shape};
  for (const Expr* e : x->items) {
    const auto v = number(e);
    if (v && to.is_float())
      made.items.push_back(rounded(c.ctx, to, *v));
    else if (v && to.is_bool())
      made.items.push_back(truth(c.ctx, *v != 0));
    else if (v && std::abs(*v) < 2147483648.0 && !(*v < 0 && to.is_uint() && x->dtype.is_float()))
      made.items.push_back(wrapped(c.ctx, to, c.i64(std::int64_t(*v))));
    else if (!v && to.is_int())
      made.items.push_back(e);
    else
      return false;
    if (!made.items.back()) return false;
  }
  c.know(std::move(made));
  return true;
}

bool fold_where(NodeContext& c) {
  const auto condition = short_value(c.known(0)), a = short_value(c.known_beside_sizes(1)),
             b = short_value(c.known_beside_sizes(2));
  if (!condition || !a || !b || a->dtype != b->dtype) return false;
  const std::size_t size = std::max({condition->items.size(), a->items.size(), b->items.size()});
  Known made{a->dtype, std::max({condition->rank, a->rank, b->rank}), {}};
  for (const auto& k : {condition, a, b})
    if (k->items.size() != 1 && k->items.size() != size) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto v = int_of(item(*condition, i));
    if (!v) return false;
    made.items.push_back(*v ? item(*a, i) : item(*b, i));
  }
  for (std::size_t i = 0; i < 3; ++i) c.note_read(i);
  c.know(std::move(made));
  return true;
}

bool fold_reduce(NodeContext& c) {
  const auto x = short_value(c.known(0));
  if (!x || x->rank != 1 || !x->dtype.is_int() || x->items.empty()) return false;
  const auto axes = c.ints_of(key::Axes, 1);
  if (!axes.ok()) return false;
  const Ints given = axes->value_or(Ints());
  if (given.size() > 1 || (given.size() == 1 && given[0] != 0 && given[0] != -1)) return false;
  if (given.empty() && c.integer(key::NoopWithEmptyAxes, 0) != 0) return false;
  const Expr* made = x->items[0];
  for (std::size_t i = 1; i < x->items.size(); ++i) {
    const Expr* next = x->items[i];
    if (c.target == op::Sum)
      made = ir::add(c.ctx, made, next);
    else if (c.target == op::Prod)
      made = ir::mul(c.ctx, made, next);
    else if (c.target == op::Max)
      made = ir::max(c.ctx, made, next);
    else if (c.target == op::Min)
      made = ir::min(c.ctx, made, next);
    else
      return false;
  }
  made = wrapped(c.ctx, x->dtype, made);
  c.know({x->dtype, c.integer(key::Keepdims, 1) != 0 ? 1 : 0, {made}});
  return true;
}

}  // namespace rldb::onnx::bodies
