// Calls that the evaluator computes lane by lane without a row of a body: parts of vectors, fixed-point products,
// functions of LLVM.
#include <fmt/format.h>

#include <algorithm>

#include "eval/tir/expr_eval.h"
#include "eval/tir/llvm_function.h"
#include "eval/tir/parts.h"
#include "rldb/ir/scalar.h"

namespace rldb::eval {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;

std::optional<Result<Scalar>> ExprEval::lane_call(const ir::Call* c, int lane) const {
  if (is_call_of<ir::intrin::QMultiplyShift>(c) || is_call_of<ir::intrin::QMultiplyShiftPerAxis>(c))
    return fixed_point(c, lane);
  if (const ir::LlvmFunction* f = ir::called_llvm_function(c)) return of_llvm(*f, c, lane);
  if (is_call_of<ir::intrin::LargeUintImm>(c)) {
    const auto low = ir::const_int(c->args[0]), high = ir::const_int(c->args[1]);
    if (!low || !high) return fail(ErrorKind::Unsupported, "the halves of `T.large_uint_imm` are not literals");
    const std::uint64_t value = std::uint64_t(*high) << 32 | (std::uint64_t(*low) & 0xffff'ffff);
    return of_int(wrap(std::int64_t(value), c->dtype().element()));
  }
  if (is_call_of<ir::intrin::GetActiveLaneMask>(c)) return active_lane(c, lane);
  const bool low = is_call_of<ir::intrin::Vectorlow>(c), high = is_call_of<ir::intrin::Vectorhigh>(c);
  const bool both = is_call_of<ir::intrin::Vectorcombine>(c);
  if (!low && !high && !both) return std::nullopt;
  const int given = lanes_of(c->args[0]);
  if (lanes_of(c) != (both ? 2 * given : given / 2) || (both && lanes_of(c->args[1]) != given))
    return fail(ErrorKind::Unsupported, fmt::format("the lanes of `{}` do not fit", callee_text(c)));
  if (both) return lane < given ? eval(c->args[0], lane) : eval(c->args[1], lane - given);
  return eval(c->args[0], high ? lane + given / 2 : lane);
}

// base + lane < limit, of numbers without a sign, as LLVM's.
Result<Scalar> ExprEval::active_lane(const ir::Call* c, int lane) const {
  const DType t = c->args[0]->dtype();
  if (!t.is_scalar() || !t.is_integral() || t != c->args[1]->dtype())
    return fail(ErrorKind::Unsupported, "`T.get_active_lane_mask` is over two integers of one dtype");
  RLDB_TRY(const std::int64_t base, integer(c->args[0]));
  RLDB_TRY(const std::int64_t limit, integer(c->args[1]));
  const auto unsigned_of = [&](std::int64_t v) { return std::uint64_t(wrap(v, DType::UInt(t.bits))); };
  const std::uint64_t first = unsigned_of(base), end = unsigned_of(limit);
  return of_int(first < end && end - first > std::uint64_t(lane));
}

Result<Scalar> ExprEval::fixed_point(const ir::Call* c, int lane) const {
  std::int64_t n[7] = {};
  for (std::size_t i = 0; i < c->args.size(); ++i) {
    if (c->args[i]->dtype().is_float())
      return fail(ErrorKind::Unsupported, fmt::format("`{}` is a function of integers", callee_text(c)));
    RLDB_TRY(const Scalar v, eval(c->args[i], lane));
    n[i] = v.i;
  }
  if (is_call_of<ir::intrin::QMultiplyShiftPerAxis>(c))
    return fixed_point_product({n[0], n[1], n[4], n[5] ? n[2] : 0, n[3]});
  return fixed_point_product(
      {n[0], n[1], n[2], std::max<std::int64_t>(n[3], 0), n[3] > 0 ? 0 : -n[3], ir::is_half_factor(c->args[1])});
}

Result<Scalar> ExprEval::of_llvm(const ir::LlvmFunction& f, const ir::Call* c, int lane) const {
  const std::size_t first = ir::first_operand(c);
  const DType t = c->args[first]->dtype().element();
  Scalar args[3];
  for (std::size_t i = 0; i < std::size_t(f.arity); ++i) {
    const DType own = c->args[first + i]->dtype().element();
    if (own != t || (f.of_floats ? !t.is_float() : !ir::is_llvm_integer(f, t)))
      return fail(ErrorKind::Unsupported, fmt::format("`{}` is not a function of {}", f.name, runtime::to_string(own)));
    RLDB_TRY(args[i], eval(c->args[first + i], lane));
  }
  return llvm_function(f, {args, std::size_t(f.arity)}, t);
}

}  // namespace rldb::eval
