// Makers of scalar expressions: dtypes matched as TVM does, literals folded, neutral operands dropped.
#include "rldb/ir/scalar.h"

#include <cmath>
#include <limits>

#include "ir/arith/scalar_fold.h"
#include "ir/compare/describe.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/unary.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_ir.h"

namespace rldb::ir {

using support::Failure;

namespace {

bool is_scalar(const Expr* e) { return e->type->kind == TypeKind::Prim && !e->dtype().is_void(); }

// The dtype that both operands become, disregarding lanes. TVM: a float wins over integers, the wider float over the
// narrower; of two integers the wider wins, and the signed one when the widths are equal.
std::optional<DType> common_element(DType a, DType b) {
  if (a == b) return a;
  if (a.is_handle() || b.is_handle() || a.is_void() || b.is_void()) return std::nullopt;
  if (a.is_float() && b.is_float()) {
    // Formats of one width but different layout (float16, bfloat16) have no common format.
    if (a.bits == b.bits) return std::nullopt;
    return a.bits > b.bits ? a : b;
  }
  if (a.is_float()) return a;
  if (b.is_float()) return b;
  if (a.is_bool()) return b;
  if (b.is_bool()) return a;
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return a.is_int() ? a : b;
}

const Expr* spread(Context& ctx, const Expr* e, DType like) {
  if (e->dtype().lanes == like.lanes) return e;
  const Expr* lanes = ctx.i32(like.lanes);
  if (like.is_scalable())
    lanes = ctx.binary(BinaryKind::Mul, ctx.intrin(DType::Int(32), intrin::Vscale, {}), ctx.i32(-like.lanes));
  return ctx.broadcast(e, lanes);
}

bool is_float_const(const Expr* e, double value) {
  const auto* f = as<FloatImm>(e);
  return f != nullptr && f->value == value;
}
bool is_zero(const Expr* e) { return is_const(e, 0) || is_float_const(e, 0); }
bool is_one(const Expr* e) { return is_const(e, 1) || is_float_const(e, 1); }

// Both literals: the folded literal, or null.
const Expr* fold_literals(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  const DType t = a->dtype();
  if (const auto* x = as<IntImm>(a), *y = as<IntImm>(b); x && y) {
    const auto v = fold_int(kind, t, x->value, y->value);
    if (!v) return nullptr;
    return is_comparison(kind) || is_logic(kind) ? ctx.bool_imm(*v != 0) : ctx.int_imm(t, *v);
  }
  if (const auto* x = as<FloatImm>(a), *y = as<FloatImm>(b); x && y) {
    if (const auto op = as_comparison(kind)) return ctx.bool_imm(fold_float_compare(*op, x->value, y->value));
    // Folding rounds once in double; only formats for which double is precise enough are folded.
    if (const auto v = fold_float(kind, x->value, y->value); v && t.bits >= 32)
      return ctx.float_imm(t, t.bits == 32 ? double(float(*v)) : *v);
  }
  return nullptr;
}

// Neutral and absorbing operands, as TVM's operators drop them while an expression is built.
const Expr* fold_neutral(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  const bool integral = a->dtype().is_integral();
  switch (kind) {
    case BinaryKind::Add:
      if (is_zero(a)) return b;
      if (is_zero(b)) return a;
      return nullptr;
    case BinaryKind::Sub:
      if (is_zero(b)) return a;
      return nullptr;
    case BinaryKind::Mul:
      if (is_one(a)) return b;
      if (is_one(b)) return a;
      if (integral && is_zero(a)) return a;
      if (integral && is_zero(b)) return b;
      return nullptr;
    case BinaryKind::Div:
      if (is_one(b)) return a;
      return nullptr;
    case BinaryKind::FloorDiv:
      if (integral && is_one(b)) return a;
      if (integral && is_const(a, 0) && !is_const(b, 0)) return a;
      return nullptr;
    case BinaryKind::Mod:
    case BinaryKind::FloorMod:
      if (integral && is_one(b) && a->dtype().is_scalar()) return ctx.int_imm(a->dtype(), 0);
      if (integral && is_const(a, 0) && !is_const(b, 0)) return a;
      return nullptr;
    case BinaryKind::Min:
    case BinaryKind::Max:
      return a == b ? a : nullptr;  // one variable; two loads of one element stay, as in TVM
    case BinaryKind::And:
      if (is_const(a, 1)) return b;
      if (is_const(b, 1)) return a;
      if (is_const(a, 0)) return a;
      if (is_const(b, 0)) return b;
      return nullptr;
    case BinaryKind::Or:
      if (is_const(a, 0)) return b;
      if (is_const(b, 0)) return a;
      if (is_const(a, 1)) return a;
      if (is_const(b, 1)) return b;
      return nullptr;
    case BinaryKind::EQ:
    case BinaryKind::NE:
    case BinaryKind::LT:
    case BinaryKind::LE:
    case BinaryKind::GT:
    case BinaryKind::GE:
      break;  // comparisons have no neutral operand
  }
  return nullptr;
}

const Expr* folded_binary(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  if (const Expr* e = fold_literals(ctx, kind, a, b)) return e;
  if (const Expr* e = fold_neutral(ctx, kind, a, b)) return e;
  return ctx.binary(kind, a, b);
}

bool is_rounding(Intrinsic id) {
  return id == intrin::Floor || id == intrin::Ceil || id == intrin::Round || id == intrin::Nearbyint ||
         id == intrin::Trunc;
}

const Expr* make_rounding(Context& ctx, Intrinsic id, const Expr* x) {
  if (x->dtype().is_integral()) return x;
  const auto* literal = as<FloatImm>(x);
  if (!literal) return ctx.intrin(x->dtype(), id, {x});
  const double v = literal->value;
  return ctx.float_imm(x->dtype(), id == intrin::Floor   ? std::floor(v)
                                   : id == intrin::Ceil  ? std::ceil(v)
                                   : id == intrin::Trunc ? std::trunc(v)
                                                         : std::nearbyint(v));
}

constexpr int kMostCopied = 64;  // nodes

bool is_longer_than(const Expr* e, int most) {
  int nodes = 0;
  walk(e, [&](const Node*) { return ++nodes <= most; });
  return nodes > most;
}

bool has_infinity(DType t) {
  std::byte bytes[8] = {};
  runtime::store_double(bytes, t, std::numeric_limits<double>::infinity());
  return std::isinf(runtime::load_as_double(bytes, t));
}

const Expr* make_magnitude(Context& ctx, const Expr* x) {
  const DType t = x->dtype();
  if (t.is_uint() || t.is_bool()) return x;
  if (const auto* f = as<FloatImm>(x)) return ctx.float_imm(t, std::fabs(f->value));
  if (!t.is_int()) return ctx.intrin(t, intrin::Fabs, {x});
  const Expr* zero = spread(ctx, ctx.int_imm(t.element(), 0), t);
  const Expr* negated = folded_binary(ctx, BinaryKind::Sub, zero, x);
  if (const auto* i = as<IntImm>(x)) return i->value < 0 ? negated : x;
  // The operand is in it three times: of what is long already, as calls in calls, no copies are made.
  if (is_longer_than(x, kMostCopied)) return ctx.intrin(t, intrin::Fabs, {x});
  return ctx.select(ctx.binary(BinaryKind::GE, x, zero), x, negated);
}

// Whether it is NaN, infinite or finite.
const Expr* make_test(Context& ctx, Intrinsic id, const Expr* x) {
  const DType t = x->dtype();
  const DType truth = DType::Bool(t.lanes);
  if (t.is_integral()) return spread(ctx, ctx.bool_imm(id == intrin::Isfinite), truth);
  if (!t.is_float()) return ctx.intrin(truth, id, {x});
  if (id == intrin::Isnan) {
    if (const auto* f = as<FloatImm>(x)) return ctx.bool_imm(std::isnan(f->value));
    const bool narrow = t.element() == DType::Float(16);
    return ctx.intrin(truth, id, {narrow ? cast_to(ctx, DType::Float(32).with_lanes(t.lanes), x) : x});
  }
  if (!has_infinity(t.element())) {
    if (id == intrin::Isinf) return spread(ctx, ctx.bool_imm(false), truth);
    return logical_not(ctx, make_test(ctx, intrin::Isnan, x));
  }
  const Expr* number = logical_not(ctx, make_test(ctx, intrin::Isnan, x));
  const Expr* limit = spread(ctx, ctx.float_imm(t.element(), std::numeric_limits<double>::infinity()), t);
  const Expr* infinite =
      folded_binary(ctx, BinaryKind::And, folded_binary(ctx, BinaryKind::EQ, make_magnitude(ctx, x), limit), number);
  if (id == intrin::Isinf) return infinite;
  return folded_binary(ctx, BinaryKind::And, logical_not(ctx, infinite), number);
}

const Expr* checked(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  auto made = make_binary(ctx, kind, a, b);
  RLDB_CHECK(made.ok(), made.error().text);
  return *made;
}

}  // namespace

Result<std::pair<const Expr*, const Expr*>> match_dtypes(Context& ctx, const Expr* a, const Expr* b) {
  for (const Expr* e : {a, b})
    if (!is_scalar(e)) return Failure(source::message(diag::ScalarOperand, "an operator", describe(e->type)));
  const DType ta = a->dtype(), tb = b->dtype();
  if (ta == tb) return std::pair(a, b);
  const auto element = common_element(ta.element(), tb.element());
  const bool lanes_fit = ta.lanes == tb.lanes || ta.lanes == 1 || tb.lanes == 1;
  if (!element || !lanes_fit)
    return Failure(source::message(diag::ScalarDTypes, "an operator", runtime::to_string(ta), runtime::to_string(tb)));
  const DType whole = element->with_lanes(ta.lanes == 1 ? tb.lanes : ta.lanes);
  const auto convert = [&](const Expr* e) {
    return spread(ctx, cast_to(ctx, element->with_lanes(e->dtype().lanes), e), whole);
  };
  return std::pair(convert(a), convert(b));
}

Result<const Expr*> make_binary(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  if (is_logic(kind)) {
    for (const Expr* e : {a, b})
      if (!e->dtype().is_bool())
        return Failure(source::message(is_scalar(e) ? diag::BoolOperand : diag::ScalarOperand, to_string(kind),
                                       describe(e->type)));
  }
  auto both = match_dtypes(ctx, a, b);
  if (!both.ok()) {
    // Again, with the operator's name.
    if (both.error().id == diag::ScalarDTypes)
      return Failure(source::message(diag::ScalarDTypes, to_string(kind), describe(a->type), describe(b->type)));
    const Expr* bad = is_scalar(a) ? b : a;
    return Failure(source::message(diag::ScalarOperand, to_string(kind), describe(bad->type)));
  }
  return folded_binary(ctx, kind, both->first, both->second);
}

const Expr* add(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Add, a, b); }
const Expr* sub(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Sub, a, b); }
const Expr* mul(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Mul, a, b); }
const Expr* div(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Div, a, b); }
const Expr* floor_div(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::FloorDiv, a, b); }
const Expr* floor_mod(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::FloorMod, a, b); }
const Expr* min(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Min, a, b); }
const Expr* max(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Max, a, b); }
const Expr* compare(Context& ctx, BinaryKind kind, const Expr* a, const Expr* b) {
  RLDB_CHECK(is_comparison(kind), "not a comparison");
  return checked(ctx, kind, a, b);
}
const Expr* logical_and(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::And, a, b); }
const Expr* logical_or(Context& ctx, const Expr* a, const Expr* b) { return checked(ctx, BinaryKind::Or, a, b); }
const Expr* logical_not(Context& ctx, const Expr* a) {
  if (const auto* i = as<IntImm>(a)) return ctx.bool_imm(i->value == 0);
  if (const auto* n = as<NotExpr>(a)) return n->a;
  return ctx.not_(a);
}

const Expr* make_unary(Context& ctx, Intrinsic id, const Expr* x) {
  if (is_rounding(id)) return make_rounding(ctx, id, x);
  if (id == intrin::Fabs) return make_magnitude(ctx, x);
  if (id == intrin::Isnan || id == intrin::Isinf || id == intrin::Isfinite) return make_test(ctx, id, x);
  if (id == intrin::Likely && isa<IntImm>(x)) return x;
  return ctx.intrin(x->dtype(), id, {x});
}

const Expr* make_bits(Context& ctx, Intrinsic id, const Expr* a, const Expr* b) {
  const DType t = a->dtype();
  const auto *x = as<IntImm>(a), *y = as<IntImm>(b);
  const bool shifts = id == intrin::ShiftLeft || id == intrin::ShiftRight;
  if (t.is_int() && t.is_scalar() && t.bits >= 32 && y && (!shifts || (y->value >= 0 && y->value < t.bits))) {
    if (shifts && y->value == 0) return a;
    const auto bits = x ? std::uint64_t(x->value) : 0;
    if (x && id == intrin::BitwiseAnd) return ctx.int_imm(t, x->value & y->value);
    if (x && id == intrin::BitwiseOr) return ctx.int_imm(t, x->value | y->value);
    if (x && id == intrin::BitwiseXor) return ctx.int_imm(t, x->value ^ y->value);
    if (x && id == intrin::ShiftLeft) return ctx.int_imm(t, wrap_to(t, std::int64_t(bits << y->value)));
    if (x && id == intrin::ShiftRight) return ctx.int_imm(t, x->value >> y->value);
  }
  return ctx.intrin(t, id, {a, b});
}

const Expr* cast_to(Context& ctx, DType dtype, const Expr* e) {
  RLDB_CHECK(e->type->kind == TypeKind::Prim, "cast of something that is not a scalar");
  const DType from = e->dtype();
  if (from == dtype) return e;
  if (!dtype.is_scalar()) {
    if (from.lanes == dtype.lanes) {
      // A broadcast converts before it spreads.
      if (const auto* b = as<Broadcast>(e)) return ctx.broadcast(cast_to(ctx, dtype.element(), b->value), b->lanes);
      return ctx.cast(dtype, e);
    }
    if (from.is_scalar()) return spread(ctx, cast_to(ctx, dtype.element(), e), dtype);
    return ctx.cast(dtype, e);
  }
  if (const auto* i = as<IntImm>(e)) {
    if (dtype.is_integral()) return ctx.int_imm(dtype, i->value);
    if (dtype.is_float())
      return ctx.float_imm(dtype, from.is_uint() ? double(std::uint64_t(i->value)) : double(i->value));
  }
  if (const auto* f = as<FloatImm>(e)) {
    if (dtype.is_float()) return ctx.float_imm(dtype, f->value);
    // The result of an out-of-range conversion is machine-dependent: left to it.
    if (dtype.is_integral() && std::fabs(f->value) < 9.0e18)
      return ctx.int_imm(dtype, dtype.is_bool() ? f->value != 0 : std::int64_t(f->value));
  }
  return ctx.cast(dtype, e);
}

namespace {

// Largest finite value of a float format.
double float_limit(DType t) {
  switch (t.code) {
    case runtime::TypeCode::BFloat:
      return std::ldexp(255.0, 120);
    case runtime::TypeCode::Float8E3M4:
      return 15.5;
    case runtime::TypeCode::Float8E4M3:
      return 240;
    case runtime::TypeCode::Float8E4M3B11FNUZ:
      return 30;
    case runtime::TypeCode::Float8E4M3FN:
      return 448;
    case runtime::TypeCode::Float8E4M3FNUZ:
      return 240;
    case runtime::TypeCode::Float8E5M2:
    case runtime::TypeCode::Float8E5M2FNUZ:
      return 57344;
    case runtime::TypeCode::Float8E8M0FNU:
      return std::ldexp(1.0, 127);
    case runtime::TypeCode::Float6E2M3FN:
      return 7.5;
    case runtime::TypeCode::Float6E3M2FN:
      return 28;
    case runtime::TypeCode::Float4E2M1FN:
      return 6;
    case runtime::TypeCode::Float:
      if (t.bits == 16) return 65504;
      return t.bits == 32 ? double(std::numeric_limits<float>::max()) : std::numeric_limits<double>::max();
    case runtime::TypeCode::Int:
    case runtime::TypeCode::UInt:
    case runtime::TypeCode::Handle:
    case runtime::TypeCode::Bool:
      break;
  }
  RLDB_UNREACHABLE("not a float format");
}

}  // namespace

const Expr* min_value(Context& ctx, DType dtype) {
  RLDB_CHECK(dtype.is_scalar(), "limits are scalars");
  if (dtype.is_float()) {
    const bool is_unsigned = dtype.code == runtime::TypeCode::Float8E8M0FNU;
    return ctx.float_imm(dtype, is_unsigned ? std::ldexp(1.0, -127) : -float_limit(dtype));
  }
  if (dtype.is_int()) return ctx.int_imm(dtype, dtype.bits >= 64 ? INT64_MIN : -(std::int64_t(1) << (dtype.bits - 1)));
  return ctx.int_imm(dtype, 0);
}
const Expr* max_value(Context& ctx, DType dtype) {
  RLDB_CHECK(dtype.is_scalar(), "limits are scalars");
  if (dtype.is_float()) return ctx.float_imm(dtype, float_limit(dtype));
  if (dtype.is_bool()) return ctx.bool_imm(true);
  if (dtype.is_int()) return ctx.int_imm(dtype, INT64_MAX >> (64 - std::min<int>(dtype.bits, 64)));
  return ctx.int_imm(dtype, -1);  // all bits, wrapped to the width
}

const IntImm* as_int(const Expr* e) { return as<IntImm>(e); }
bool is_const(const Expr* e, std::int64_t value) {
  if (const auto* i = as<IntImm>(e)) return i->value == value;
  const auto* b = as<Broadcast>(e);
  return b != nullptr && isa<IntImm>(b->value) && static_cast<const IntImm*>(b->value)->value == value;
}
std::optional<std::int64_t> const_int(const Expr* e) {
  const auto* i = as<IntImm>(e);
  return i ? std::optional(i->value) : std::nullopt;
}

const Expr* product(Context& ctx, std::span<const Expr* const> dims) {
  const Expr* out = nullptr;
  for (const Expr* d : dims) out = out ? mul(ctx, out, d) : d;
  return out ? out : ctx.i64(1);
}

}  // namespace rldb::ir
