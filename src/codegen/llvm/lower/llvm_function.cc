// Functions of LLVM by name; halves and rows of vectors; products of fixed-point numbers. The bits are eval's.
#include <fmt/format.h>

#include <numeric>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/vector.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;

Lowering::Value* Lowering::llvm_function(const ir::LlvmFunction& f, const Operands& in) {
  static constexpr llvm::Intrinsic::ID kIds[] = {
#define RLDB_LLVM_FUNCTION(id, text, arity, operands) llvm::Intrinsic::id,
#include "rldb/ir/llvm_function.def"
  };
  const llvm::Intrinsic::ID id = kIds[f.index];
  const bool fits = f.of_floats ? in.is_float() : ir::is_llvm_integer(f, in.element);
  if (!fits) refuse(fmt::format("`{}` is not a function of {}", f.name, runtime::to_string(in.element)));
  std::vector<Value*> args = in.values;
  for (Value* v : args)
    if (v->getType() != args[0]->getType()) refuse(fmt::format("the operands of `{}` differ in dtype", f.name));
  if (id == llvm::Intrinsic::minnum || id == llvm::Intrinsic::maxnum) {
    Value* nan = b_.CreateFCmpUNO(args[0], args[0]);
    Value* second =
        id == llvm::Intrinsic::minnum ? b_.CreateFCmpOLT(args[1], args[0]) : b_.CreateFCmpOGT(args[1], args[0]);
    return b_.CreateSelect(b_.CreateOr(nan, second), args[1], args[0]);
  }
  if (id == llvm::Intrinsic::abs || id == llvm::Intrinsic::cttz) args.push_back(b_.getFalse());
  Value* made = b_.CreateIntrinsic(id, {args[0]->getType()}, args);
  return f.of_floats ? round_narrow(made, in.element) : made;
}

// x * y * 2^(left - right - q) in 64 bits, rounded to nearest, halves up.
Lowering::Value* Lowering::fixed_point_product(const ir::Call* c) {
  const bool per_axis = ir::is_call_of(c, ir::intrin::QMultiplyShiftPerAxis);
  const Operands in = operands(c, per_axis ? 7 : 4);
  for (std::size_t i = 0; i < in.values.size(); ++i)
    if (in.operand(i)->dtype().is_float()) refuse("a fixed-point product of floats");
  std::vector<Value*> n;
  for (std::size_t i = 0; i < in.values.size(); ++i)
    n.push_back(to_index(in.values[i], in.operand(i)->dtype().element()));
  const auto word = [&](std::int64_t v) -> Value* {
    return llvm::ConstantInt::get(n[0]->getType(), std::uint64_t(v), true);
  };
  const auto count = [&](Value* v) { return b_.CreateAnd(v, word(63)); };
  const auto narrow = [&](Value* v) { return b_.CreateTrunc(v, value_type(DType::Int(32), width_of(v))); };
  Value *left = nullptr, *right = nullptr, *q = nullptr;
  if (per_axis) {
    left = b_.CreateSelect(b_.CreateICmpNE(n[5], word(0)), n[2], word(0));
    right = n[3];
    q = n[4];
  } else {
    Value* up = b_.CreateICmpSGT(n[3], word(0));
    left = b_.CreateSelect(up, n[3], word(0));
    right = b_.CreateSelect(up, word(0), b_.CreateNeg(n[3]));
    q = n[2];
  }
  if (!per_axis && ir::is_half_factor(c->args[1])) {
    Value* by = b_.CreateSub(b_.CreateSub(left, right), word(1));
    Value* back = b_.CreateNeg(by);
    const auto wrapped = [&](Value* v) { return b_.CreateSExt(narrow(v), n[0]->getType()); };
    Value* half = wrapped(b_.CreateShl(word(1), count(b_.CreateSub(back, word(1)))));
    Value* down = b_.CreateAShr(wrapped(b_.CreateAdd(n[0], half)), count(back));
    return narrow(b_.CreateSelect(b_.CreateICmpSGT(by, word(0)), b_.CreateShl(n[0], count(by)), down));
  }
  Value* product = b_.CreateMul(b_.CreateShl(n[0], count(left)), n[1]);
  Value* by = b_.CreateAdd(right, q);
  Value* half = b_.CreateShl(word(1), count(b_.CreateSub(by, word(1))));
  return narrow(b_.CreateAShr(b_.CreateAdd(product, half), count(by)));
}

// base + lane < limit, of numbers without a sign.
Lowering::Value* Lowering::active_lanes(const ir::Call* c) {
  const DType t = c->args[0]->dtype();
  if (!t.is_scalar() || !t.is_integral() || t != c->args[1]->dtype())
    refuse("`T.get_active_lane_mask` is over two integers of one dtype");
  if (widened_) refuse("lanes are counted in a vectorised loop");
  Value* first = value(c->args[0]);
  Value* end = value(c->args[1]);
  const auto lanes = unsigned(lanes_of(c));
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(b_.getInt64Ty(), i));
  Value* left = b_.CreateZExtOrTrunc(b_.CreateSub(end, first), b_.getInt64Ty());
  left = b_.CreateSelect(b_.CreateICmpULT(first, end), left, i64(0));
  Value* mask = lanes > 1 ? b_.CreateICmpUGT(splat(left, lanes), llvm::ConstantVector::get(numbers))
                          : b_.CreateICmpNE(left, i64(0));
  return b_.CreateZExtOrTrunc(mask, value_type(c->dtype().element(), lanes > 1 ? lanes : 0));
}

// A half of a vector's lanes, or two vectors in a row; a literal of 64 bits in two halves. Null: another call.
Lowering::Value* Lowering::lanes_call(const ir::Call* c) {
  if (ir::is_call_of(c, ir::intrin::LargeUintImm)) {
    const auto low = ir::const_int(c->args[0]), high = ir::const_int(c->args[1]);
    if (!low || !high) refuse("the halves of `T.large_uint_imm` are not literals");
    return llvm::ConstantInt::get(value_type(c->dtype().element(), 0),
                                  std::uint64_t(*high) << 32 | (std::uint64_t(*low) & 0xffff'ffff));
  }
  if (ir::is_call_of(c, ir::intrin::GetActiveLaneMask)) return active_lanes(c);
  const bool low = ir::is_call_of(c, ir::intrin::Vectorlow), high = ir::is_call_of(c, ir::intrin::Vectorhigh);
  if (!low && !high && !ir::is_call_of(c, ir::intrin::Vectorcombine)) return nullptr;
  if (widened_) refuse("lanes are moved in a vectorised loop");
  Value* first = value(c->args[0]);
  const auto lanes = c->dtype().lanes;
  const auto given = c->args[0]->dtype().lanes;
  std::vector<int> which(std::size_t(std::max<int>(lanes, 1)));
  std::iota(which.begin(), which.end(), high ? given / 2 : 0);
  Value* second = low || high ? first : value(c->args[1]);
  if (!first->getType()->isVectorTy() || first->getType() != second->getType() ||
      lanes != (low || high ? given / 2 : given * 2))
    refuse("the lanes of " + where(c) + " do not fit");
  Value* made = b_.CreateShuffleVector(first, second, which);
  return lanes > 1 ? made : b_.CreateExtractElement(made, std::uint64_t(0));
}

}  // namespace rldb::codegen
