// Conversions between narrow and wide floats, written in integer arithmetic and multiplications by powers of two.
#include "tir_passes/float_formats.h"

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/tir_passes/pass_name.h"

namespace rldb::passes {

using namespace ir;

namespace {

const Expr* splat(Context& ctx, DType t, std::int64_t value) {
  const Expr* one = ctx.int_imm(t.element(), value);
  return t.is_scalar() ? one : ctx.broadcast(one, ctx.i32(t.lanes));
}
const Expr* real(Context& ctx, DType t, double value) {
  const Expr* one = ctx.float_imm(t.element(), value);
  return t.is_scalar() ? one : ctx.broadcast(one, ctx.i32(t.lanes));
}
const Expr* converted(Context& ctx, DType t, const Expr* e) { return e->dtype() == t ? e : ctx.cast(t, e); }

// Operators on one vector of bits.
struct Bits {
  Context& ctx;
  DType t;

  const Expr* of(std::int64_t value) const { return splat(ctx, t, value); }
  const Expr* same(const Expr* e) const { return ctx.intrin(t, intrin::Reinterpret, {e}); }
  const Expr* left(const Expr* e, int by) const { return ctx.intrin(t, intrin::ShiftLeft, {e, of(by)}); }
  const Expr* right(const Expr* e, int by) const { return ctx.intrin(t, intrin::ShiftRight, {e, of(by)}); }
  const Expr* masked(const Expr* e, std::int64_t mask) const {
    return ctx.intrin(t, intrin::BitwiseAnd, {e, of(mask)});
  }
  const Expr* joined(const Expr* a, const Expr* b) const { return ctx.intrin(t, intrin::BitwiseOr, {a, b}); }
  const Expr* plus(const Expr* a, std::int64_t b) const { return ctx.binary(BinaryKind::Add, a, of(b)); }
  const Expr* minus(const Expr* a, std::int64_t b) const { return ctx.binary(BinaryKind::Sub, a, of(b)); }
};

Bits unsigned_bits(Context& ctx, int bits, DType like) { return {ctx, DType::UInt(bits, like.lanes)}; }

// ---- bfloat16: the upper half of a float32 ----

constexpr int kHalf = 16;

const Expr* widened_bfloat16(Context& ctx, const Expr* e) {
  const DType t = e->dtype();
  const Bits u32 = unsigned_bits(ctx, 32, t);
  const Expr* bits = ctx.cast(u32.t, unsigned_bits(ctx, kHalf, t).same(e));
  return ctx.intrin(DType::Float(32, t.lanes), intrin::Reinterpret, {u32.left(bits, kHalf)});
}

const Expr* rounded_bfloat16(Context& ctx, const Expr* e) {
  const DType t = e->dtype();
  const Bits u32 = unsigned_bits(ctx, 32, t);
  const Expr* bits = u32.same(e);
  const Expr* odd = u32.masked(u32.right(bits, kHalf), 1);
  const Expr* sum = ctx.binary(BinaryKind::Add, bits, u32.plus(odd, (1 << (kHalf - 1)) - 1));
  const Expr* upper = ctx.cast(DType::UInt(kHalf, t.lanes), u32.right(sum, kHalf));
  return ctx.intrin(DType::BFloat16(t.lanes), intrin::Reinterpret, {upper});
}

// ---- float8 ----

// A format with a sign, and the exponent and mantissa below it.
struct Float8 {
  int mantissa;           // bits
  int bias;               // of the exponent
  std::int64_t overflow;  // the encoding of magnitudes that are too large
  std::int64_t nan;
};

constexpr Float8 kE4M3FN{3, 7, 0x7f, 0x7f};
constexpr Float8 kE5M2{2, 15, 0x7c, 0x7e};

const Float8* float8_format(DType t) {
  if (t.code == runtime::TypeCode::Float8E4M3FN) return &kE4M3FN;
  return t.code == runtime::TypeCode::Float8E5M2 ? &kE5M2 : nullptr;
}

constexpr int kFloat16Mantissa = 10, kFloat16Bias = 15;
constexpr int kFloat32Mantissa = 23, kFloat32Bias = 127;
constexpr std::int64_t kFloat16NaN = 0x7e00, kFloat32Infinity = 0x7f800000;

// Via float16, whose exponent is at least as wide: shifting the bits up gives the value except for a power of two.
const Expr* widened_float8(Context& ctx, const Expr* e, DType wide) {
  const DType t = e->dtype(), f16 = DType::Float(16, t.lanes);
  const Float8& format = *float8_format(t);
  const Bits u16 = unsigned_bits(ctx, 16, t);
  const Expr* bits = ctx.cast(u16.t, unsigned_bits(ctx, 8, t).same(e));
  const Expr* magnitude = u16.masked(bits, 0x7f);
  const Expr* sign = u16.left(u16.masked(bits, 0x80), 8);
  const Expr* moved = u16.joined(sign, u16.left(magnitude, kFloat16Mantissa - format.mantissa));
  const Expr* out = ctx.intrin(f16, intrin::Reinterpret, {moved});
  if (format.bias != kFloat16Bias) {
    out = ctx.binary(BinaryKind::Mul, out, real(ctx, f16, double(1 << (kFloat16Bias - format.bias))));
    const Expr* is_nan = ctx.binary(BinaryKind::EQ, magnitude, u16.of(format.nan));
    const Expr* nan = ctx.intrin(f16, intrin::Reinterpret, {u16.joined(sign, u16.of(kFloat16NaN))});
    out = ctx.select(is_nan, nan, out);
  }
  return converted(ctx, wide, out);
}

// The encoded magnitude, from the bits of a float32 without its sign.
const Expr* encoded_magnitude(const Bits& u32, const Expr* bits, const Float8& format) {
  Context& ctx = u32.ctx;
  const DType f32 = DType::Float(32, u32.t.lanes);
  const int cut = kFloat32Mantissa - format.mantissa;
  const std::int64_t rebias = std::int64_t(kFloat32Bias - format.bias) << kFloat32Mantissa;
  const Expr* odd = u32.masked(u32.right(bits, cut), 1);
  const Expr* sum = ctx.binary(BinaryKind::Add, bits, u32.plus(odd, (std::int64_t(1) << (cut - 1)) - 1));
  const Expr* normal = u32.right(u32.minus(sum, rebias), cut);
  // Below the least normal number: a sum whose last place is the format's least number rounds the value to it.
  const int last_place = 1 - format.bias - format.mantissa;
  const int exponent = last_place + kFloat32Mantissa;
  const Expr* large = real(ctx, f32, double(std::int64_t(1) << exponent));
  const Expr* value = ctx.intrin(f32, intrin::Reinterpret, {bits});
  const Expr* tiny = u32.minus(u32.same(ctx.binary(BinaryKind::Add, value, large)),
                               std::int64_t(exponent + kFloat32Bias) << kFloat32Mantissa);
  const std::int64_t least_normal = std::int64_t(1 - format.bias + kFloat32Bias) << kFloat32Mantissa;
  const Expr* picked = ctx.select(ctx.binary(BinaryKind::LT, bits, u32.of(least_normal)), tiny, normal);
  const Expr* finite = ctx.binary(BinaryKind::Min, picked, u32.of(format.overflow));
  if (format.nan == format.overflow) return finite;
  return ctx.select(ctx.binary(BinaryKind::LT, u32.of(kFloat32Infinity), bits), u32.of(format.nan), finite);
}

const Expr* rounded_float8(Context& ctx, const Expr* e, DType to) {
  const Bits u32 = unsigned_bits(ctx, 32, to);
  const Var* all = ctx.var("bits", ctx.prim(u32.t));
  const Var* low = ctx.var("magnitude", ctx.prim(u32.t));
  const Expr* sign = u32.masked(u32.right(all, 24), 0x80);
  const Expr* encoded = u32.joined(encoded_magnitude(u32, low, *float8_format(to)), sign);
  const Expr* byte = ctx.cast(DType::UInt(8, to.lanes), encoded);
  const Expr* out = ctx.intrin(to, intrin::Reinterpret, {byte});
  const Expr* bits = u32.same(converted(ctx, DType::Float(32, to.lanes), e));
  return ctx.let(all, bits, ctx.let(low, u32.masked(all, 0x7fffffff), out));
}

}  // namespace

DType bits_of(DType t) { return DType::UInt(t.bits, t.lanes); }

double nearest(DType t, double value) {
  std::uint64_t memory = 0;
  runtime::store_double(&memory, t.element(), value);
  return runtime::load_as_double(&memory, t.element());
}

const Expr* NarrowFloats::widened(Context& ctx, const Expr* e) const {
  return e->dtype().is_bfloat16() ? widened_bfloat16(ctx, e) : widened_float8(ctx, e, widened(e->dtype()));
}

const Expr* NarrowFloats::rounded(Context& ctx, const Expr* e, DType to) const {
  return to.is_bfloat16() ? rounded_bfloat16(ctx, e) : rounded_float8(ctx, e, to);
}

NarrowFloats bfloat16() {
  const auto is = [](DType t) { return t.is_bfloat16(); };
  return {is, is, "bfloat16", pass_name::BF16ComputeLegalize, DType::Float(32)};
}

NarrowFloats float8(DType wide) {
  return {[](DType t) { return t.is_float8(); }, [](DType t) { return float8_format(t) != nullptr; }, "float8",
          pass_name::FP8ComputeLegalize, wide};
}

}  // namespace rldb::passes
