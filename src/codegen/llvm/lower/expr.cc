// Scalar expressions: arithmetic with eval's rounding and wrapping, conversions, lazy conditions, vectors.
//
// It is long because values and indices are lowered by turns: each asks the other, under one state of lanes and widths.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>

#include "codegen/llvm/lower/depth.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;
using runtime::ErrorKind;

namespace {

// Wider vectors make LLVM's code generation slow beyond measure.
constexpr int kMaxVectorLanes = 512;

// Arithmetic makes quiet NaN, unless it is with a constant that leaves numbers as they are (`x * 1`): then LLVM leaves
// it out.
bool is_sum_or_product(llvm::Value* v) {
  const auto* op = llvm::dyn_cast<llvm::BinaryOperator>(v);
  return op && !llvm::isa<llvm::Constant>(op->getOperand(0)) && !llvm::isa<llvm::Constant>(op->getOperand(1));
}

bool is_narrow(DType t) { return t.is_float() && !(t.code == runtime::TypeCode::Float && t.bits >= 32); }

}  // namespace

int Lowering::lanes_of(const ir::Expr* e) {
  const DType t = e->dtype();
  if (t.is_scalable()) refuse("scalable vectors have no code here");
  if (t.lanes > kMaxVectorLanes) refuse(fmt::format("vectors of {} lanes have no code here", t.lanes));
  return t.lanes < 1 ? 1 : t.lanes;
}

unsigned Lowering::lanes_of(const Value* v) {
  const auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t ? t->getNumElements() : 1;
}

Lowering::Value* Lowering::splat(Value* v, unsigned lanes) {
  if (lanes <= 1 || v->getType()->isVectorTy()) return v;
  return b_.CreateVectorSplat(lanes, v);
}

void Lowering::unify(Value*& a, Value*& b) {
  const unsigned n = std::max(lanes_of(a), lanes_of(b));
  a = splat(a, n);
  b = splat(b, n);
}

Lowering::Value* Lowering::literal_float(double v, DType t) {
  if (t.bits == 64 && t.code == runtime::TypeCode::Float) return llvm::ConstantFP::get(b_.getDoubleTy(), v);
  if (is_narrow(t)) {
    alignas(8) std::byte bytes[8] = {};
    runtime::store_double(bytes, t.element(), v);
    v = runtime::load_as_double(bytes, t.element());
  }
  return llvm::ConstantFP::get(b_.getFloatTy(), double(float(v)));
}

Lowering::Value* Lowering::variable(const ir::Var* v) {
  if (const auto it = vars_.find(v); it != vars_.end()) {
    if (lane0_ && it->second.base) return b_.CreateTrunc(it->second.base, value_type(v->dtype()));
    return it->second.value;
  }
  if (const auto it = pointers_.find(v); it != pointers_.end()) return it->second.base;
  refuse(fmt::format("`{}` has no value here", v->name));
}

Lowering::Value* Lowering::condition(const ir::Expr* e) {
  Value* v = value(e);
  if (v->getType()->getScalarSizeInBits() == 1) return v;
  if (v->getType()->isFPOrFPVectorTy()) return b_.CreateFCmpUNE(v, llvm::Constant::getNullValue(v->getType()));
  return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType()));
}

Lowering::Value* Lowering::value(const ir::Expr* e) {
  DepthGuard guard(depth_, "an expression is nested too deeply");
  switch (e->expr_kind()) {
    case ir::ExprKind::Var:
    case ir::ExprKind::DataflowVar:
      return variable(as<ir::Var>(e));
    case ir::ExprKind::IntImm: {
      const std::int64_t v = as<ir::IntImm>(e)->value;
      if (e->dtype().is_bool()) return b_.getInt1(v != 0);
      if (e->dtype().is_handle()) return b_.CreateIntToPtr(i64(v), b_.getPtrTy());
      return llvm::ConstantInt::get(value_type(e->dtype()), std::uint64_t(v), true);
    }
    case ir::ExprKind::FloatImm:
      return literal_float(as<ir::FloatImm>(e)->value, e->dtype());
    case ir::ExprKind::Binary:
      return binary(as<ir::BinaryExpr>(e));
    case ir::ExprKind::BufferLoad:
      return load(as<ir::BufferLoad>(e));
    case ir::ExprKind::Not:
      return b_.CreateNot(condition(as<ir::NotExpr>(e)->a));
    case ir::ExprKind::Cast: {
      const ir::Expr* from = as<ir::CastExpr>(e)->value;
      return convert(value(from), from->dtype(), e->dtype());
    }
    case ir::ExprKind::Select: {
      const auto* s = as<ir::SelectExpr>(e);
      return choose(s->cond, s->true_value, s->false_value);
    }
    case ir::ExprKind::Ramp:
      return ramp(as<ir::Ramp>(e));
    case ir::ExprKind::Broadcast:
      return broadcast(as<ir::Broadcast>(e));
    case ir::ExprKind::Shuffle:
      return shuffle(as<ir::Shuffle>(e));
    case ir::ExprKind::Let: {
      const auto* l = as<ir::LetExpr>(e);
      bind(l->var, l->value);
      return value(l->body);
    }
    case ir::ExprKind::Call:
      return call(as<ir::Call>(e));
#define RLDB_GRAPH(Kind, Struct, doc) case ir::ExprKind::Kind:
#include "rldb/ir/node.def"
      break;
  }
  refuse("there is no code for the expression " + where(e));
}

// ---- vectors ----

Lowering::Value* Lowering::ramp(const ir::Ramp* r) {
  const auto lanes = unsigned(lanes_of(r));
  const auto inner = unsigned(lanes_of(r->base));
  Value* base = value(r->base);
  Value* stride = value(r->stride);
  llvm::Type* element = base->getType()->getScalarType();
  std::vector<llvm::Constant*> step;
  std::vector<int> pick;
  for (unsigned i = 0; i < lanes; ++i) {
    step.push_back(llvm::ConstantInt::get(element, i / inner));
    pick.push_back(int(i % inner));
  }
  if (inner > 1) {
    base = b_.CreateShuffleVector(base, pick);
    if (stride->getType()->isVectorTy()) stride = b_.CreateShuffleVector(stride, pick);
  }
  return b_.CreateAdd(splat(base, lanes), b_.CreateMul(splat(stride, lanes), llvm::ConstantVector::get(step)));
}

Lowering::Value* Lowering::broadcast(const ir::Broadcast* b) {
  const auto lanes = unsigned(lanes_of(b));
  Value* v = value(b->value);
  const unsigned inner = lanes_of(v);
  if (inner == 1) return splat(v, lanes);
  std::vector<int> pick;
  for (unsigned i = 0; i < lanes; ++i) pick.push_back(int(i % inner));
  return b_.CreateShuffleVector(v, pick);
}

Lowering::Value* Lowering::shuffle(const ir::Shuffle* s) {
  std::vector<Value*> all;
  for (const ir::Expr* v : s->vectors) {
    Value* part = value(v);
    for (unsigned i = 0; i < lanes_of(part); ++i) all.push_back(lane(part, i));
  }
  std::vector<Value*> picked;
  for (const ir::Expr* e : s->indices) {
    const auto n = ir::const_int(e);
    if (!n || *n < 0 || std::size_t(*n) >= all.size())
      refuse("the index of a shuffle is not a constant inside its vectors");
    picked.push_back(all[std::size_t(*n)]);
  }
  if (picked.size() == 1) return picked[0];
  Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(picked[0]->getType(), unsigned(picked.size())));
  for (std::size_t i = 0; i < picked.size(); ++i) out = b_.CreateInsertElement(out, picked[i], std::uint64_t(i));
  return out;
}

Lowering::Value* Lowering::lane(Value* v, unsigned i) {
  return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, std::uint64_t(i)) : v;
}

// The function of each lane, when the sample is a vector.
Lowering::Value* Lowering::per_lane(Value* sample, const std::function<Value*(unsigned)>& f) {
  const unsigned n = lanes_of(sample);
  if (n == 1 && !sample->getType()->isVectorTy()) return f(0);
  Value* out = nullptr;
  for (unsigned i = 0; i < n; ++i) {
    Value* v = f(i);
    if (!out) out = llvm::PoisonValue::get(llvm::FixedVectorType::get(v->getType(), n));
    out = b_.CreateInsertElement(out, v, std::uint64_t(i));
  }
  return out;
}

// ---- arithmetic ----

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

// ---- indices ----

Lowering::Value* Lowering::to_index(Value* v, DType t) {
  llvm::Type* word = value_type(DType::Int(64), v->getType()->isVectorTy() ? lanes_of(v) : 0);
  return b_.CreateIntCast(v, word, t.is_int());
}

// In 64 bits throughout: an int32 index that would wrap is out of bounds anyway. Checked code computes as written.
Lowering::Value* Lowering::index(const ir::Expr* e) {
  DepthGuard guard(depth_, "an expression is nested too deeply");
  const DType t = e->dtype().element();
  if (const auto* i = as<ir::IntImm>(e)) return i64(i->value);
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    if (it != vars_.end() && lane0_ && it->second.base) return it->second.base;
    if (it != vars_.end() && it->second.wide) return it->second.wide;
  }
  if (!checked() || wide_) {
    if (const auto* b = as<ir::BinaryExpr>(e); b && t.is_int()) {
      if (b->kind == BinaryKind::Add || b->kind == BinaryKind::Sub || b->kind == BinaryKind::Mul) {
        Value* x = index(b->a);
        Value* y = index(b->b);
        unify(x, y);
        const bool exact = counts(b);
        if (b->kind == BinaryKind::Add) return b_.CreateAdd(x, y, "", false, exact);
        if (b->kind == BinaryKind::Sub) return b_.CreateSub(x, y, "", false, exact);
        return b_.CreateMul(x, y, "", false, exact);
      }
      if (b->kind == BinaryKind::FloorDiv || b->kind == BinaryKind::FloorMod || b->kind == BinaryKind::Div ||
          b->kind == BinaryKind::Mod) {
        if (Value* lanes = divide_lanes(b)) return lanes;
        Value* x = index(b->a);
        Value* y = index(b->b);
        unify(x, y);
        const auto wide = restore_later(wide_, true);  // this one is
        return divide(b->op(), x, y, false, non_negative(b->a));
      }
    }
    if (const auto* c = as<ir::CastExpr>(e); c && t.is_int() && t.bits == 64 && c->value->dtype().is_int())
      return index(c->value);
  }
  return to_index(value(e), t);
}

// Lanes that are equally far apart, by a number: the first is divided as a scalar, and what the others are beyond its
// remainder in 32 bits. Vectors of 64 bits have no instruction for the upper half of a product, which LLVM replaces a
// quotient by: 16 lanes of one take 200 instructions. Null: they are not.
Lowering::Value* Lowering::divide_lanes(const ir::BinaryExpr* e) {
  constexpr std::int64_t kMost = 1 << 30;
  if (!widened_ || lane0_) return nullptr;
  const bool remainder = e->kind == BinaryKind::FloorMod;
  if (!remainder && e->kind != BinaryKind::FloorDiv) return nullptr;
  const std::int64_t by = ir::const_int(e->b).value_or(0);
  const auto step = lane_step(e->a);
  if (by < 2 || by >= kMost || (by & (by - 1)) == 0 || !step || *step <= 0 || *step >= kMost / widened_lanes_)
    return nullptr;
  // A dividend that may wrap does so between two lanes.
  if (!counts(e->a)) return nullptr;
  const auto in_64_bits = restore_later(wide_, true);
  const auto first = [&] {
    const auto lane = restore_later(lane0_, true);
    return index(e->a);
  }();
  const bool non_negative_first = non_negative(e->a);
  Value* number = i64(by);
  Value* quotient = divide(BinaryKind::FloorDiv, first, number, false, non_negative_first);
  Value* rest = divide(BinaryKind::FloorMod, first, number, false, non_negative_first);
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < widened_lanes_; ++i) steps.push_back(b_.getInt32(unsigned(*step) * i));
  Value* lanes = b_.CreateAdd(splat(b_.CreateTrunc(rest, b_.getInt32Ty()), widened_lanes_),
                              llvm::ConstantVector::get(steps), "", true, true);
  Value* divisor = splat(b_.getInt32(unsigned(by)), widened_lanes_);
  llvm::Type* wide = value_type(DType::Int(64), widened_lanes_);
  if (remainder) return b_.CreateZExt(b_.CreateURem(lanes, divisor), wide);
  return b_.CreateAdd(splat(quotient, widened_lanes_), b_.CreateZExt(b_.CreateUDiv(lanes, divisor), wide), "", false,
                      true);
}

Lowering::Value* Lowering::wide_index(const ir::Expr* e) {
  const auto wide = restore_later(wide_, true);
  return index(e);
}

// Whether an integer is computed from numbers, loops' variables and dims alone: it counts elements, so that 64 bits
// hold it and what it is computed from. Data may be anything: `-A[i] % 6` wraps for the least integer.
bool Lowering::counts(const ir::Expr* e, int depth) {
  if (depth > 40) return false;
  // A number near the limits is none that elements have.
  constexpr std::int64_t kMostNumber = std::int64_t(1) << 62;
  if (const auto* n = as<ir::IntImm>(e)) return n->value < kMostNumber && n->value > -kMostNumber;
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    return it == vars_.end() || it->second.counts;
  }
  if (const auto* c = as<ir::CastExpr>(e)) return c->value->dtype().is_integral() && counts(c->value, depth + 1);
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || !e->dtype().is_int()) return false;
  // A remainder by a size is one, whatever is divided.
  const bool remainder = b->kind == BinaryKind::FloorMod || b->kind == BinaryKind::Mod;
  return counts(b->b, depth + 1) && (remainder || counts(b->a, depth + 1));
}

// Bits that a non-negative integer may need. A product of several variables counts elements, and there are not so many,
// so that each is taken for a short one.
int Lowering::significant_bits(const ir::Expr* e, int depth) {
  constexpr int kCount = 15;
  const int all = e->dtype().bits;
  if (depth > 40) return all;
  if (const auto* i = as<ir::IntImm>(e)) return std::bit_width(std::uint64_t(i->value));
  if (as<ir::Var>(e)) return counts(e) ? std::min(kCount, all) : all;
  if (const auto* c = as<ir::CastExpr>(e)) return std::min(significant_bits(c->value, depth + 1), all);
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b) return all;
  const auto left = [&] { return significant_bits(b->a, depth + 1); };
  const auto right = [&] { return significant_bits(b->b, depth + 1); };
  switch (b->op()) {
    case BinaryKind::Add:
      return std::max(left(), right()) + 1;
    case BinaryKind::Mul:
      return left() + right();
    case BinaryKind::Min:
    case BinaryKind::FloorDiv:
    case BinaryKind::Div:
      return left();
    case BinaryKind::FloorMod:
      return right();
    case BinaryKind::Max:
      return std::max(left(), right());
    case BinaryKind::Mod:
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;
  }
  return all;
}

bool Lowering::non_negative(const ir::Expr* e, int depth) {
  if (depth > 40) return false;
  if (const auto* i = as<ir::IntImm>(e)) return i->value >= 0;
  if (e->dtype().is_uint() || e->dtype().is_bool()) return true;
  if (const auto* v = as<ir::Var>(e)) {
    const auto it = vars_.find(v);
    return it != vars_.end() && it->second.non_negative;
  }
  if (const auto* c = as<ir::CastExpr>(e)) {
    const DType from = c->value->dtype();
    // The highest bit of an unsigned number becomes the sign of a signed one of the same width.
    const int room = c->dtype().bits - (from.is_int() ? 0 : 1);
    return from.is_integral() && room >= from.bits && non_negative(c->value, depth + 1);
  }
  const auto* b = as<ir::BinaryExpr>(e);
  if (!b || !e->dtype().is_int()) return false;
  const auto both = [&] { return non_negative(b->a, depth + 1) && non_negative(b->b, depth + 1); };
  switch (b->op()) {
    case BinaryKind::Add:
    case BinaryKind::Mul:
      // A narrow type may wrap, and so may a wide one of large numbers.
      return (wide_ || e->dtype().bits >= 64) && both() && significant_bits(b->a) + significant_bits(b->b) < 63;
    case BinaryKind::FloorDiv:
    case BinaryKind::Div:
    case BinaryKind::Min:
      return both();
    case BinaryKind::Max:
      return non_negative(b->a, depth + 1) || non_negative(b->b, depth + 1);
    case BinaryKind::FloorMod:
      return non_negative(b->b, depth + 1);
    case BinaryKind::Mod:
      return non_negative(b->a, depth + 1);
    case BinaryKind::Sub:
#define RLDB_COMPARISON(Kind, ...) case BinaryKind::Kind:
#define RLDB_LOGIC(Kind, ...) case BinaryKind::Kind:
#include "rldb/ir/node.def"
      break;  // comparisons are bool; a difference may be anything
  }
  return false;
}

// No load, no fault, no effect, and cheap: may be computed even if its value is not needed.
bool Lowering::speculable(const ir::Expr* e, int depth) {
  if (depth > 6) return false;
  if (as<ir::Var>(e) || as<ir::IntImm>(e) || as<ir::FloatImm>(e)) return true;
  if (const auto* b = as<ir::BinaryExpr>(e)) {
    if (b->kind == BinaryKind::Div || b->kind == BinaryKind::Mod || b->kind == BinaryKind::FloorDiv ||
        b->kind == BinaryKind::FloorMod) {
      const auto divisor = ir::const_int(b->b);
      if (!e->dtype().is_float() && (!divisor || *divisor == 0)) return false;
    }
    return speculable(b->a, depth + 1) && speculable(b->b, depth + 1);
  }
  if (const auto* n = as<ir::NotExpr>(e)) return speculable(n->a, depth + 1);
  if (const auto* c = as<ir::CastExpr>(e)) return speculable(c->value, depth + 1);
  if (const auto* b = as<ir::Broadcast>(e)) return speculable(b->value, depth + 1);
  if (const auto* s = as<ir::SelectExpr>(e))
    return speculable(s->cond, depth + 1) && speculable(s->true_value, depth + 1) &&
           speculable(s->false_value, depth + 1);
  return false;
}

// T.if_then_else and T.Select are the same: an operand that may fault is computed only where it is needed (TVM:
// RewriteUnsafeSelect).
Lowering::Value* Lowering::choose(const ir::Expr* cond, const ir::Expr* yes, const ir::Expr* no) {
  const bool cheap = speculable(yes) && speculable(no);
  return lazy(
      cond, [&] { return value(yes); }, [&] { return value(no); }, cheap);
}

// A value of which only the required side is computed.
Lowering::Value* Lowering::lazy(const ir::Expr* cond, const std::function<Value*()>& a,
                                const std::function<Value*()>& b, bool cheap) {
  Value* c = condition(cond);
  if (cheap || c->getType()->isVectorTy()) {
    if (cheap) {
      Value* x = a();
      Value* y = b();
      const unsigned n = std::max({lanes_of(c), lanes_of(x), lanes_of(y)});
      return b_.CreateSelect(splat(c, n), splat(x, n), splat(y, n));
    }
    Value* outer = mask_;
    const unsigned n = lanes_of(c);
    mask_ = outer ? b_.CreateAnd(splat(outer, n), c) : c;
    Value* x = a();
    Value* off = b_.CreateNot(c);
    mask_ = outer ? b_.CreateAnd(splat(outer, n), off) : off;
    Value* y = b();
    mask_ = outer;
    const unsigned all = std::max({n, lanes_of(x), lanes_of(y)});
    if (all != n) refuse("a lazy condition has fewer lanes than its values: " + where(cond));
    return b_.CreateSelect(c, splat(x, n), splat(y, n));
  }
  Block* yes = new_block("yes");
  Block* no = new_block("no");
  Block* end = new_block("either");
  b_.CreateCondBr(c, yes, no);
  b_.SetInsertPoint(yes);
  Value* x = a();
  Block* after_yes = b_.GetInsertBlock();
  b_.SetInsertPoint(no);
  Value* y = b();
  Block* after_no = b_.GetInsertBlock();
  const unsigned n = std::max(lanes_of(x), lanes_of(y));
  b_.SetInsertPoint(after_yes);
  x = splat(x, n);
  b_.CreateBr(end);
  b_.SetInsertPoint(after_no);
  y = splat(y, n);
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  llvm::PHINode* phi = b_.CreatePHI(x->getType(), 2);
  phi->addIncoming(x, after_yes);
  phi->addIncoming(y, after_no);
  return phi;
}

}  // namespace rldb::codegen
