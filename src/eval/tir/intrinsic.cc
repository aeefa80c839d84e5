// The functions of TensorIR intrinsics, by the rows of intrinsic.def.
#include "eval/tir/intrinsic.h"

#include <bit>
#include <cmath>

#include "rldb/runtime/float_function.h"

namespace rldb::eval {

namespace {

using Args = std::span<const Scalar>;

// float32 and narrower compute in float, as the JIT does.
template <float (*F32)(float), double (*F64)(double)>
Scalar unary(Args a, DType t, DType) {
  if (t.bits == 64) return of_float(F64(a[0].f));
  return of_float(round_to(double(F32(float(a[0].f))), t));
}
template <float (*F32)(float, float), double (*F64)(double, double)>
Scalar two(Args a, DType t, DType) {
  if (t.bits == 64) return of_float(F64(a[0].f, a[1].f));
  return of_float(round_to(double(F32(float(a[0].f), float(a[1].f))), t));
}

float exp10_f(float v) { return runtime::pow_f32(10.0f, v); }
double exp10_d(double v) { return std::pow(10.0, v); }
float rsqrt_f(float v) { return 1.0f / std::sqrt(v); }
double rsqrt_d(double v) { return 1.0 / std::sqrt(v); }
double sigmoid_d(double v) { return 1.0 / (1.0 + std::exp(-v)); }

// Bodies of kind Own that take floats only, a float and an integer, or integers only: calls with other operands are
// refused by callers of `operand_kind`.
struct OfFloats {
  IntrinsicFn f;
};
struct OfFloatAndInteger {
  IntrinsicFn f;
};
struct OfIntegers {
  IntrinsicFn f;
};

namespace own {

constexpr OfFloats exp10{unary<exp10_f, exp10_d>};
constexpr OfFloats rsqrt{unary<rsqrt_f, rsqrt_d>};
constexpr OfFloats sigmoid{unary<runtime::sigmoid_f32, sigmoid_d>};
constexpr OfFloats copysign{two<std::copysign, std::copysign>};
constexpr OfFloats fma{[](Args a, DType t, DType) {
  if (t.bits == 64) return of_float(std::fma(a[0].f, a[1].f, a[2].f));
  return of_float(round_to(double(std::fma(float(a[0].f), float(a[1].f), float(a[2].f))), t));
}};
constexpr OfFloatAndInteger ldexp{
    [](Args a, DType t, DType) { return of_float(round_to(std::ldexp(a[0].f, int(a[1].i)), t)); }};
Scalar absolute(Args a, DType t, DType) {
  if (t.is_float()) return of_float(std::fabs(a[0].f));
  return of_int(t.is_uint() || a[0].i >= 0 ? a[0].i : wrap(std::int64_t(0 - std::uint64_t(a[0].i)), t));
}
Scalar is_nan(Args a, DType t, DType) { return of_int(t.is_float() && std::isnan(a[0].f)); }
Scalar is_inf(Args a, DType t, DType) { return of_int(t.is_float() && std::isinf(a[0].f)); }
Scalar is_finite(Args a, DType t, DType) { return of_int(!t.is_float() || std::isfinite(a[0].f)); }
constexpr OfIntegers popcount{[](Args a, DType t, DType) {
  const std::uint64_t mask = t.bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << t.bits) - 1;
  return of_int(std::popcount(std::uint64_t(a[0].i) & mask));
}};
constexpr OfIntegers clz{[](Args a, DType t, DType) {
  const std::uint64_t mask = t.bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << t.bits) - 1;
  return of_int(std::countl_zero(std::uint64_t(a[0].i) & mask) - (64 - t.bits));
}};
constexpr OfIntegers bit_and{[](Args a, DType t, DType) { return of_int(wrap(a[0].i & a[1].i, t)); }};
constexpr OfIntegers bit_or{[](Args a, DType t, DType) { return of_int(wrap(a[0].i | a[1].i, t)); }};
constexpr OfIntegers bit_xor{[](Args a, DType t, DType) { return of_int(wrap(a[0].i ^ a[1].i, t)); }};
constexpr OfIntegers bit_not{
    [](Args a, DType t, DType) { return of_int(t.is_bool() ? std::int64_t(!a[0].i) : wrap(~a[0].i, t)); }};
// Shifts by the width or more are undefined in TVM; here the count is taken modulo 64, as x86 does.
constexpr OfIntegers shift_left{
    [](Args a, DType t, DType) { return of_int(wrap(std::int64_t(std::uint64_t(a[0].i) << (a[1].i & 63)), t)); }};
constexpr OfIntegers shift_right{[](Args a, DType t, DType) {
  if (t.is_uint()) return of_int(wrap(std::int64_t(std::uint64_t(a[0].i) >> (a[1].i & 63)), t));
  return of_int(wrap(a[0].i >> (a[1].i & 63), t));
}};

}  // namespace own

constexpr IntrinsicFn body(IntrinsicFn f) { return f; }
constexpr IntrinsicFn body(OfFloats own) { return own.f; }
constexpr IntrinsicFn body(OfFloatAndInteger own) { return own.f; }
constexpr IntrinsicFn body(OfIntegers own) { return own.f; }

struct OperandKinds {
  OperandKind first, others;
};
constexpr OperandKinds kAny{OperandKind::Any, OperandKind::Any};
constexpr OperandKinds kFloats{OperandKind::Float, OperandKind::Float};
constexpr OperandKinds kinds_of(IntrinsicFn) { return kAny; }
constexpr OperandKinds kinds_of(OfFloats) { return kFloats; }
constexpr OperandKinds kinds_of(OfFloatAndInteger) { return {OperandKind::Float, OperandKind::Integer}; }
constexpr OperandKinds kinds_of(OfIntegers) { return {OperandKind::Integer, OperandKind::Integer}; }

// By row of intrinsic.def: a row of kind Own without a function here does not compile.
#define RLDB_EVAL_Libm1(f) unary<std::f, std::f>
#define RLDB_EVAL_Libm2(f) two<std::f, std::f>
#define RLDB_EVAL_Formula1(f) unary<runtime::f##_f32, std::f>
#define RLDB_EVAL_Formula2(f) two<runtime::f##_f32, std::f>
#define RLDB_EVAL_Native(f) unary<std::f, std::f>
#define RLDB_EVAL_Own(f) body(own::f)
#define RLDB_EVAL_Form nullptr
#define RLDB_EVAL_Eval nullptr
#define RLDB_EVAL_None nullptr
constexpr IntrinsicFn kBodies[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) RLDB_EVAL_##evaluate,
#include "rldb/ir/intrinsic/intrinsic.def"
};

#define RLDB_KINDS_Libm1(f) kFloats
#define RLDB_KINDS_Libm2(f) kFloats
#define RLDB_KINDS_Formula1(f) kFloats
#define RLDB_KINDS_Formula2(f) kFloats
#define RLDB_KINDS_Native(f) kFloats
#define RLDB_KINDS_Own(f) kinds_of(own::f)
#define RLDB_KINDS_Form kAny
#define RLDB_KINDS_Eval kAny
#define RLDB_KINDS_None kAny
constexpr OperandKinds kOperandKinds[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) RLDB_KINDS_##evaluate,
#include "rldb/ir/intrinsic/intrinsic.def"
};

}  // namespace

OperandKind operand_kind(const ir::IntrinsicInfo& row, int operand) {
  const OperandKinds kinds = kOperandKinds[row.index];
  return operand == 0 ? kinds.first : kinds.others;
}
IntrinsicFn body_of(const ir::IntrinsicInfo& row) { return kBodies[row.index]; }

}  // namespace rldb::eval
