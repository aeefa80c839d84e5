// Arithmetic with eval's rounding and wrapping, and conversions between numeric types.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;
using runtime::ErrorKind;

namespace {

// Arithmetic makes quiet NaN, unless it is with a constant that leaves numbers as they are (`x * 1`): then LLVM leaves
// it out.
bool is_sum_or_product(llvm::Value* v) {
  const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(v);
  return op && !llvm::isa<llvm::Constant>(op->getOperand(0)) && !llvm::isa<llvm::Constant>(op->getOperand(1));
}

}  // namespace

// a * b + c, a * b - c and c - a * b where they may be one operation; null for anything else. This is decided by the
// text and not by LLVM, which fuses what its passes have brought together: the bits are the same whichever of them run.
Lowering::Value* Lowering::fused_multiply(const ir::BinaryExpr* e) {
  const DType t = e->dtype().element();
  const bool adds = e->op() == BinaryKind::Add, subtracts = e->op() == BinaryKind::Sub;
  if (!contract_ || !options_.fused || options_.fp == FpMode::Fast || !(adds || subtracts)) return nullptr;
  if (!t.is_float() || is_narrow(t)) return nullptr;
  const auto product = [](const ir::Expr* operand) {
    const auto* p = as<ir::BinaryExpr>(operand);
    return p && p->op() == BinaryKind::Mul ? p : nullptr;
  };
  const ir::BinaryExpr* left = product(e->a);
  const ir::BinaryExpr* p = left ? left : product(e->b);
  if (!p) return nullptr;
  Value* c = left ? nullptr : value(e->a);
  Value* x = value(p->a);
  Value* y = value(p->b);
  if (left) c = value(e->b);
  unify(x, y);
  unify(x, c);
  unify(y, c);
  if (subtracts && left) c = b_.CreateFNeg(c);
  if (subtracts && !left) x = b_.CreateFNeg(x);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {c->getType()}, {x, y, c});
}

Lowering::Value* Lowering::binary(const ir::BinaryExpr* e) {
  if (e->kind == BinaryKind::And || e->kind == BinaryKind::Or) return logical(e);
  if (widened_ && e->kind == BinaryKind::Add)
    if (Value* dot = dot_of_bytes(e)) return dot;
  if (Value* fused = fused_multiply(e)) return fused;
  Value* a = value(e->a);
  Value* b = value(e->b);
  unify(a, b);
  const DType t = e->a->dtype().element();
  if (t.is_float()) return float_binary(e->op(), a, b, t);
  if (t.is_handle()) {
    a = b_.CreatePtrToInt(a, b_.getInt64Ty());
    b = b_.CreatePtrToInt(b, b_.getInt64Ty());
  }
  switch (e->op()) {
    case BinaryKind::Div:
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
      return divide(e->op(), a, b, !t.is_int(), non_negative(e->a));
    case BinaryKind::Add:
    case BinaryKind::Sub:
    case BinaryKind::Mul:
    case BinaryKind::Min:
    case BinaryKind::Max:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;  // cannot fault
  }
  return int_binary(e->op(), a, b, t);
}

// `a and b` without evaluating b when a decides, unless b is free of effects and faults.
Lowering::Value* Lowering::logical(const ir::BinaryExpr* e) {
  const bool is_and = e->kind == BinaryKind::And;
  Value* a = condition(e->a);
  // Lanes that differ in b are decided one by one.
  if (widened_ && lane_step(e->b) != 0) a = splat(a, widened_lanes_);
  if (speculable(e->b) || a->getType()->isVectorTy()) {
    if (!speculable(e->b)) {
      // Lanes decided by `a` are off for b.
      Value* const before = mask_;
      Value* saved = mask_;
      Value* open = is_and ? a : b_.CreateNot(a);
      if (saved) unify(saved, open);
      mask_ = saved ? b_.CreateAnd(saved, open) : open;
      Value* b = condition(e->b);
      mask_ = before;
      unify(a, b);
      return is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
    }
    Value* b = condition(e->b);
    unify(a, b);
    return is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
  }
  Block* more = new_block("more");
  Block* end = new_block("known");
  Block* before = b_.GetInsertBlock();
  b_.CreateCondBr(a, is_and ? more : end, is_and ? end : more);
  b_.SetInsertPoint(more);
  Value* b = condition(e->b);
  if (b->getType()->isVectorTy()) refuse("a lazy condition has more lanes on one side: " + where(e));
  Block* after = b_.GetInsertBlock();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  llvm::PHINode* phi = b_.CreatePHI(b_.getInt1Ty(), 2);
  phi->addIncoming(b_.getInt1(!is_and), before);
  phi->addIncoming(b, after);
  return phi;
}

Lowering::Value* Lowering::float_binary(BinaryKind kind, Value* a, Value* b, DType t) {
  const auto rounded = [&](Value* v) { return round_narrow(v, t); };
  llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags;
  if (options_.fp == FpMode::Fast) {
    flags.setAllowReassoc();
    flags.setAllowContract();
    flags.setNoSignedZeros();
  }
  b_.setFastMathFlags(flags);
  if (options_.float16 && t == DType::Float(16))
    if (Value* made = half_binary(kind, a, b)) return made;
  switch (kind) {
    case BinaryKind::Add:
      return rounded(b_.CreateFAdd(a, b));
    case BinaryKind::Sub:
      return rounded(b_.CreateFSub(a, b));
    case BinaryKind::Mul:
      return rounded(b_.CreateFMul(a, b));
    case BinaryKind::Div:
      return rounded(b_.CreateFDiv(a, b));
    case BinaryKind::Mod:
      if (!a->getType()->getScalarType()->isDoubleTy()) return float_mod(a, b);
      return per_lane(a, [&](unsigned i) { return libm("fmod", {lane(a, i), lane(b, i)}); });
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod: {
      // In double, as eval: the quotient of two floats may round up to the next integer.
      const bool is_double = a->getType()->getScalarType()->isDoubleTy();
      llvm::Type* wide = value_type(DType::Float(64), a->getType()->isVectorTy() ? lanes_of(a) : 0);
      b_.setFastMathFlags({});
      Value* x = is_double ? a : b_.CreateFPExt(a, wide);
      Value* y = is_double ? b : b_.CreateFPExt(b, wide);
      Value* q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(x, y));
      if (kind == BinaryKind::FloorMod) q = b_.CreateFSub(x, b_.CreateFMul(q, y));
      return is_double ? q : convert(q, DType::Float(64), t);
    }
    // A compare and a select: the second operand wins when one is NaN.
    case BinaryKind::Min:
      if (Value* made = half_extreme(kind, a, b, t)) return made;
      return b_.CreateSelect(b_.CreateFCmpOLT(a, b), a, b);
    case BinaryKind::Max:
      if (Value* made = half_extreme(kind, a, b, t)) return made;
      return b_.CreateSelect(b_.CreateFCmpOGT(a, b), a, b);
    case BinaryKind::EQ:
      return b_.CreateFCmpOEQ(a, b);
    case BinaryKind::NE:
      return b_.CreateFCmpUNE(a, b);
    case BinaryKind::LT:
      return b_.CreateFCmpOLT(a, b);
    case BinaryKind::LE:
      return b_.CreateFCmpOLE(a, b);
    case BinaryKind::GT:
      return b_.CreateFCmpOGT(a, b);
    case BinaryKind::GE:
      return b_.CreateFCmpOGE(a, b);
    case BinaryKind::And:
    case BinaryKind::Or:
      break;
  }
  refuse("a logical operator on floats");
}

// The smaller or larger lanes of what was float16, by the instruction that does the same. LLVM sees that a comparison
// would be the same in float16, and on a CPU without that does it lane by lane. Null: not such vectors.
Lowering::Value* Lowering::half_extreme(BinaryKind kind, Value* a, Value* b, DType t) {
  if (t != DType::Float(16) || options_.float16 || !a->getType()->isVectorTy()) return nullptr;
  const bool is_max = kind == BinaryKind::Max;
  const unsigned lanes = lanes_of(a);
  if (lanes == 16 && options_.vector_bytes == 64) {
    constexpr std::uint32_t kCurrentRounding = 4;
    return b_.CreateIntrinsic(is_max ? llvm::Intrinsic::x86_avx512_max_ps_512 : llvm::Intrinsic::x86_avx512_min_ps_512,
                              {}, {a, b, b_.getInt32(kCurrentRounding)});
  }
  if (lanes != 8 || options_.vector_bytes < 32) return nullptr;
  return b_.CreateIntrinsic(is_max ? llvm::Intrinsic::x86_avx_max_ps_256 : llvm::Intrinsic::x86_avx_min_ps_256, {},
                            {a, b});
}

// In float16 itself: the same as in float32 and rounded, which has more than twice as many digits. Conversions of what
// was converted before are no instructions. Null: not an operation that rounds.
Lowering::Value* Lowering::half_binary(BinaryKind kind, Value* a, Value* b) {
  const auto opcode = kind == BinaryKind::Add   ? llvm::Instruction::FAdd
                      : kind == BinaryKind::Sub ? llvm::Instruction::FSub
                      : kind == BinaryKind::Mul ? llvm::Instruction::FMul
                                                : llvm::Instruction::FDiv;
  if (opcode == llvm::Instruction::FDiv && kind != BinaryKind::Div) return nullptr;
  llvm::Type* half = b_.getHalfTy();
  if (a->getType()->isVectorTy()) half = llvm::FixedVectorType::get(half, lanes_of(a));
  const auto narrow = [&](Value* v) -> Value* {
    if (auto* wide = llvm::dyn_cast<llvm::FPExtInst>(v); wide && wide->getSrcTy() == half) return wide->getOperand(0);
    return b_.CreateFPTrunc(v, half);
  };
  return b_.CreateFPExt(b_.CreateBinOp(opcode, narrow(a), narrow(b)), a->getType());
}

Lowering::Value* Lowering::int_binary(BinaryKind kind, Value* a, Value* b, DType t) {
  const bool is_signed = t.is_int();
  switch (kind) {
    case BinaryKind::Add:
      if (t.is_bool()) return b_.CreateOr(a, b);
      return b_.CreateAdd(a, b);
    case BinaryKind::Sub:
      if (t.is_bool()) return b_.CreateXor(a, b);
      return b_.CreateSub(a, b);
    case BinaryKind::Mul:
      return b_.CreateMul(a, b);
    case BinaryKind::Min:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case BinaryKind::Max:
      return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    case BinaryKind::EQ:
      return b_.CreateICmpEQ(a, b);
    case BinaryKind::NE:
      return b_.CreateICmpNE(a, b);
    case BinaryKind::LT:
      // 0 < a bool: as a number it would be a vector of 64 bits.
      if (const auto* z = llvm::dyn_cast<llvm::ZExtInst>(b); z && z->getSrcTy()->isIntOrIntVectorTy(1))
        if (const auto* zero = llvm::dyn_cast<llvm::Constant>(a); zero && zero->isNullValue()) return z->getOperand(0);
      return is_signed ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case BinaryKind::LE:
      return is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case BinaryKind::GT:
      return is_signed ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
    case BinaryKind::GE:
      return is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
    case BinaryKind::Div:
    case BinaryKind::Mod:
    case BinaryKind::FloorDiv:
    case BinaryKind::FloorMod:
    case BinaryKind::And:
    case BinaryKind::Or:
      break;  // handled by `divide` and `logical`
  }
  refuse("an operator is not a binary one");
}

// Guards zero (a fault) and -1 (the one quotient that overflows) unless the divisor is a constant.
Lowering::Value* Lowering::divide(BinaryKind kind, Value* a, Value* b, bool is_unsigned, bool a_non_negative) {
  const bool remainder = kind == BinaryKind::Mod || kind == BinaryKind::FloorMod;
  const bool floor = kind == BinaryKind::FloorDiv || kind == BinaryKind::FloorMod;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  const auto* one = constant && constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
  const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(one);
  if (!known || known->isZero()) {
    Value* zero = b_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
    if (zero->getType()->isVectorTy()) {
      if (mask_) zero = b_.CreateAnd(zero, splat(mask_, lanes_of(zero)));
      zero = b_.CreateOrReduce(zero);
    }
    fault_if(zero, ErrorKind::Raised, "integer division by zero", {});
    // Lanes that are off may still hold zero.
    if (b->getType()->isVectorTy()) {
      llvm::Constant* ones = llvm::ConstantInt::get(b->getType(), 1);
      b = b_.CreateSelect(b_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType())), ones, b);
    }
  }
  if (is_unsigned) return remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  const bool positive = known && known->getValue().isStrictlyPositive();
  if (positive && floor && known->getValue().isPowerOf2()) {
    if (remainder) return b_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), known->getValue() - 1));
    return b_.CreateAShr(a, llvm::ConstantInt::get(a->getType(), known->getValue().logBase2()));
  }
  if (positive && a_non_negative) return remainder ? b_.CreateURem(a, b) : b_.CreateUDiv(a, b);
  Value* minus_one = nullptr;
  if (!known || known->isMinusOne()) {
    minus_one = b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
    b = b_.CreateSelect(minus_one, llvm::ConstantInt::get(b->getType(), 1), b);
  }
  Value* result = remainder ? b_.CreateSRem(a, b) : b_.CreateSDiv(a, b);
  if (floor) {
    Value* zero = llvm::Constant::getNullValue(a->getType());
    Value* r = remainder ? result : b_.CreateSub(a, b_.CreateMul(result, b));
    Value* off = b_.CreateAnd(b_.CreateICmpNE(r, zero), b_.CreateICmpSLT(b_.CreateXor(r, b), zero));
    result = remainder ? b_.CreateSelect(off, b_.CreateAdd(r, b), r)
                       : b_.CreateSub(result, b_.CreateZExt(off, result->getType()));
  }
  if (minus_one)
    result =
        b_.CreateSelect(minus_one, remainder ? llvm::Constant::getNullValue(a->getType()) : b_.CreateNeg(a), result);
  return result;
}

// ---- conversions ----

Lowering::Value* Lowering::round_narrow(Value* v, DType t) {
  if (!is_narrow(t)) return v;
  const unsigned vector = v->getType()->isVectorTy() ? lanes_of(v) : 0;
  const auto typed = [&](llvm::Type* element) -> llvm::Type* {
    return vector ? llvm::FixedVectorType::get(element, vector) : element;
  };
  if (t.bits == 16 && t.code == runtime::TypeCode::Float)
    return b_.CreateFPExt(b_.CreateFPTrunc(v, typed(b_.getHalfTy())), v->getType());
  if (t.is_bfloat16()) {
    // Round to nearest even on the bits; NaN stays a quiet NaN.
    llvm::Type* word = typed(b_.getInt32Ty());
    const auto constant = [&](std::uint64_t c) { return llvm::ConstantInt::get(word, c); };
    Value* bits = b_.CreateBitCast(v, word);
    Value* odd = b_.CreateAnd(b_.CreateLShr(bits, constant(16)), constant(1));
    Value* up = b_.CreateAdd(bits, b_.CreateAdd(odd, constant(0x7fff)));
    Value* quiet = is_sum_or_product(v) ? bits : b_.CreateOr(bits, constant(0x400000));
    Value* picked = b_.CreateSelect(b_.CreateFCmpUNO(v, v), quiet, up);
    return b_.CreateBitCast(b_.CreateAnd(picked, constant(0xffff0000)), v->getType());
  }
  return per_lane(v, [&](unsigned i) {
    Value* wide = b_.CreateFPExt(lane(v, i), b_.getDoubleTy());
    return b_.CreateCall(helper("rldb_round", b_.getFloatTy(), {b_.getDoubleTy(), b_.getInt32Ty()}, true),
                         {wide, b_.getInt32(unsigned(t.code) << 8 | t.bits)});
  });
}

namespace {

// The lowest 32 bits of a float32 as an integer that saturates at 64, without vectors of 64 bits. From 2^31 on the
// integer is its 24 digits, moved; NaN is 0.
llvm::Value* low_word(llvm::IRBuilderBase& b, llvm::Value* v) {
  llvm::Type* word = v->getType()->getWithNewType(b.getInt32Ty());
  const auto whole = [&](std::uint32_t n) { return llvm::ConstantInt::get(word, n); };
  const auto real = [&](double n) { return llvm::ConstantFP::get(v->getType(), n); };
  llvm::Value* zero = llvm::Constant::getNullValue(word);
  llvm::Value* is_small = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), real(0x1p31));
  llvm::Value* small = b.CreateFPToSI(b.CreateSelect(is_small, v, real(0)), word);
  llvm::Value* bits = b.CreateBitCast(v, word);
  llvm::Value* exponent = b.CreateAnd(b.CreateLShr(bits, whole(23)), whole(0xff));
  llvm::Value* by = b.CreateSub(exponent, whole(127 + 23));
  llvm::Value* is_inside = b.CreateICmpULT(by, whole(32));
  llvm::Value* digits = b.CreateOr(b.CreateAnd(bits, whole(0x7fffff)), whole(0x800000));
  llvm::Value* size = b.CreateSelect(is_inside, b.CreateShl(digits, b.CreateSelect(is_inside, by, zero)), zero);
  llvm::Value* large = b.CreateSelect(b.CreateICmpSLT(bits, zero), b.CreateSub(zero, size), size);
  large = b.CreateSelect(b.CreateFCmpOGE(v, real(0x1p63)), whole(0xffffffff), large);
  return b.CreateSelect(is_small, small, large);
}

}  // namespace

Lowering::Value* Lowering::convert(Value* v, DType from, DType to) {
  from = from.element();
  to = to.element();
  if (from == to) return v;
  const unsigned vector = v->getType()->isVectorTy() ? lanes_of(v) : 0;
  llvm::Type* type = value_type(to, vector);
  if (from.is_handle() || to.is_handle()) {
    if (from.is_handle() && to.is_integral()) return b_.CreatePtrToInt(v, type);
    if (to.is_handle() && from.is_integral()) return b_.CreateIntToPtr(v, type);
    refuse(fmt::format("there is no conversion from {} to {}", runtime::to_string(from), runtime::to_string(to)));
  }
  const auto from_double = [&](Value* wide) -> Value* {  // rounds once
    if (to.bits == 64) return wide;
    if (to.bits == 32 && to.code == runtime::TypeCode::Float) return b_.CreateFPTrunc(wide, type);
    return per_lane(wide, [&](unsigned i) {
      return b_.CreateCall(helper("rldb_round", b_.getFloatTy(), {b_.getDoubleTy(), b_.getInt32Ty()}, true),
                           {lane(wide, i), b_.getInt32(unsigned(to.code) << 8 | to.bits)});
    });
  };
  if (to.is_float()) {
    if (from.is_float()) {
      if (from.bits == 64) return from_double(v);
      if (to.bits == 64) return b_.CreateFPExt(v, type);
      return round_narrow(v, to);
    }
    const bool is_signed = from.is_int();
    const bool exact = from.bits <= 16 || (to.bits == 16 && to.code == runtime::TypeCode::Float);
    if (to.bits == 64 || (to.bits == 32 && from.bits <= 32))
      return is_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
    if (exact) return round_narrow(is_signed ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type), to);
    llvm::Type* wide = value_type(DType::Float(64), vector);
    return from_double(is_signed ? b_.CreateSIToFP(v, wide) : b_.CreateUIToFP(v, wide));
  }
  if (to.is_bool()) {
    llvm::Constant* zero = llvm::Constant::getNullValue(v->getType());
    return from.is_float() ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
  }
  if (from.is_float()) {
    // Saturates at 64 bits, then wraps, as eval.
    if (v->getType()->getScalarType()->isFloatTy() && to.bits <= 32) return b_.CreateZExtOrTrunc(low_word(b_, v), type);
    const bool big = to.is_uint() && to.bits == 64;
    llvm::Type* word = value_type(DType::Int(64), vector);
    Value* wide =
        b_.CreateIntrinsic(big ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat, {word, v->getType()}, {v});
    return b_.CreateTrunc(wide, type);
  }
  return b_.CreateIntCast(v, type, from.is_int());
}

}  // namespace rldb::codegen
