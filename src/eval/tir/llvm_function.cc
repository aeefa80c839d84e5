// Functions of LLVM by name, by the rows of llvm_function.def; and TensorIR's multiplication of fixed-point numbers.
#include "eval/tir/llvm_function.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rldb::eval {

namespace {

using Args = std::span<const Scalar>;
__extension__ using Wide = __int128;

std::uint64_t mask_of(DType t) { return t.bits >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << t.bits) - 1; }
std::uint64_t pattern(Scalar v, DType t) { return std::uint64_t(v.i) & mask_of(t); }
std::int64_t with_sign(Scalar v, DType t) { return wrap(v.i, DType::Int(t.bits)); }
Scalar number(std::uint64_t bits, DType t) { return of_int(wrap(std::int64_t(bits), t)); }

Scalar signed_within(Wide v, DType t) {
  const Wide most = (Wide(1) << (t.bits - 1)) - 1;
  return number(std::uint64_t(std::clamp(v, -most - 1, most)), t);
}
Scalar unsigned_within(Wide v, DType t) { return number(std::uint64_t(std::clamp(v, Wide(0), Wide(mask_of(t)))), t); }

// `high` followed by `low`, shifted left by `by` bits: the upper half of the result.
std::uint64_t funnel(std::uint64_t high, std::uint64_t low, unsigned by, DType t) {
  return by == 0 ? high : (high << by | low >> (unsigned(t.bits) - by)) & mask_of(t);
}

namespace llvm_body {

Scalar sadd_sat(Args a, DType t) { return signed_within(Wide(with_sign(a[0], t)) + with_sign(a[1], t), t); }
Scalar ssub_sat(Args a, DType t) { return signed_within(Wide(with_sign(a[0], t)) - with_sign(a[1], t), t); }
Scalar uadd_sat(Args a, DType t) { return unsigned_within(Wide(pattern(a[0], t)) + pattern(a[1], t), t); }
Scalar usub_sat(Args a, DType t) { return unsigned_within(Wide(pattern(a[0], t)) - pattern(a[1], t), t); }
Scalar smax(Args a, DType t) { return with_sign(a[0], t) > with_sign(a[1], t) ? a[0] : a[1]; }
Scalar smin(Args a, DType t) { return with_sign(a[0], t) < with_sign(a[1], t) ? a[0] : a[1]; }
Scalar umax(Args a, DType t) { return pattern(a[0], t) > pattern(a[1], t) ? a[0] : a[1]; }
Scalar umin(Args a, DType t) { return pattern(a[0], t) < pattern(a[1], t) ? a[0] : a[1]; }
Scalar abs(Args a, DType t) {
  const std::int64_t v = with_sign(a[0], t);
  return number(v < 0 ? 0 - std::uint64_t(v) : std::uint64_t(v), t);
}
Scalar bswap(Args a, DType t) { return number(__builtin_bswap64(pattern(a[0], t)) >> (64 - t.bits), t); }
Scalar bitreverse(Args a, DType t) {
  std::uint64_t out = 0;
  for (int i = 0; i < t.bits; ++i) out |= (pattern(a[0], t) >> i & 1) << (t.bits - 1 - i);
  return number(out, t);
}
Scalar cttz(Args a, DType t) {
  const std::uint64_t bits = pattern(a[0], t);
  return number(bits == 0 ? std::uint64_t(t.bits) : std::uint64_t(std::countr_zero(bits)), t);
}
Scalar fshl(Args a, DType t) {
  const auto by = unsigned(pattern(a[2], t) % std::uint64_t(t.bits));
  return number(funnel(pattern(a[0], t), pattern(a[1], t), by, t), t);
}
Scalar fshr(Args a, DType t) {
  const auto by = unsigned(pattern(a[2], t) % std::uint64_t(t.bits));
  if (by == 0) return number(pattern(a[1], t), t);
  return number(funnel(pattern(a[0], t), pattern(a[1], t), unsigned(t.bits) - by, t), t);
}
// A number before NaN; of equal zeros the first one.
Scalar minnum(Args a, DType) { return std::isnan(a[0].f) || a[1].f < a[0].f ? a[1] : a[0]; }
Scalar maxnum(Args a, DType) { return std::isnan(a[0].f) || a[1].f > a[0].f ? a[1] : a[0]; }
Scalar copysign(Args a, DType) { return of_float(std::copysign(a[0].f, a[1].f)); }
Scalar fma(Args a, DType t) {
  if (t.bits == 64) return of_float(std::fma(a[0].f, a[1].f, a[2].f));
  return of_float(round_to(double(std::fma(float(a[0].f), float(a[1].f), float(a[2].f))), t));
}
Scalar round(Args a, DType t) { return of_float(round_to(std::round(a[0].f), t)); }
Scalar roundeven(Args a, DType t) { return of_float(round_to(std::nearbyint(a[0].f), t)); }
Scalar rint(Args a, DType t) { return roundeven(a, t); }

}  // namespace llvm_body

}  // namespace

Scalar llvm_function(const ir::LlvmFunction& f, Args args, DType t) {
  using Body = Scalar (*)(Args, DType);
  static constexpr Body kBodies[] = {
#define RLDB_LLVM_FUNCTION(id, text, arity, operands) llvm_body::id,
#include "rldb/ir/llvm_function.def"
  };
  return kBodies[f.index](args, t);
}

// Computed in 64 bits, with one half added before the shift: TVM's rule where a target has none of its own.
Scalar fixed_point_product(const FixedPoint& n) {
  if (n.is_half) {  // the factor is one half: only moved
    const std::int64_t by = n.left - n.right - 1;
    if (by > 0) return number(std::uint64_t(n.x) << (by & 63), DType::Int(32));
    const std::int64_t half = wrap(std::int64_t(std::uint64_t(1) << ((-by - 1) & 63)), DType::Int(32));
    return of_int(wrap(wrap(std::int64_t(std::uint64_t(n.x) + std::uint64_t(half)), DType::Int(32)) >> (-by & 63),
                       DType::Int(32)));
  }
  const std::uint64_t product = (std::uint64_t(n.x) << (n.left & 63)) * std::uint64_t(n.y);
  const std::int64_t by = n.right + n.q;
  const std::uint64_t half = std::uint64_t(1) << ((by - 1) & 63);
  return of_int(wrap(std::int64_t(product + half) >> (by & 63), DType::Int(32)));
}

}  // namespace rldb::eval
