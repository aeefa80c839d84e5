// The operations of runtime/float_formula.h as instructions: an elementary function of float32 is inlined where it is
// called, on as many lanes as its argument has. Everything is strict here, also under --fp=fast: the formulas split
// numbers exactly and lose it all when they are reassociated. Used by intrinsic.cc.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <string_view>

namespace rldb::codegen {

class FormulaCode {
 public:
  using Builder = llvm::IRBuilder<>;
  template <int kind>
  struct Typed {
    llvm::Value* v;
  };
  using F = Typed<0>;
  using D = Typed<1>;
  using I = Typed<2>;
  using L = Typed<3>;
  using M = Typed<4>;
  // y, but the C library's function of x where the condition holds.
  using Rare = std::function<llvm::Value*(llvm::Value* condition, llvm::Value* x, std::string_view, llvm::Value* y)>;

  FormulaCode(Builder& b, unsigned lanes, Rare rare) : b_(b), lanes_(lanes), rare_(std::move(rare)), strict_(b) {
    b_.setFastMathFlags({});
  }

  F f(float v) { return {llvm::ConstantFP::get(type(b_.getFloatTy()), double(v))}; }
  D d(double v) { return {llvm::ConstantFP::get(type(b_.getDoubleTy()), v)}; }
  I i(std::int32_t v) { return {llvm::ConstantInt::getSigned(type(b_.getInt32Ty()), v)}; }
  L l(std::int64_t v) { return {llvm::ConstantInt::getSigned(type(b_.getInt64Ty()), v)}; }
  F constant(F, float v) { return f(v); }
  D constant(D, double v) { return d(v); }

  template <int k>
  Typed<k> add(Typed<k> a, Typed<k> c) {
    return {b_.CreateFAdd(a.v, c.v)};
  }
  template <int k>
  Typed<k> sub(Typed<k> a, Typed<k> c) {
    return {b_.CreateFSub(a.v, c.v)};
  }
  template <int k>
  Typed<k> mul(Typed<k> a, Typed<k> c) {
    return {b_.CreateFMul(a.v, c.v)};
  }
  template <int k>
  Typed<k> div(Typed<k> a, Typed<k> c) {
    return {b_.CreateFDiv(a.v, c.v)};
  }
  template <int k>
  Typed<k> fma(Typed<k> a, Typed<k> c, Typed<k> e) {
    return {b_.CreateIntrinsic(llvm::Intrinsic::fma, {a.v->getType()}, {a.v, c.v, e.v})};
  }
  template <int k>
  Typed<k> neg(Typed<k> a) {
    return {b_.CreateFNeg(a.v)};
  }
  template <int k>
  Typed<k> abs(Typed<k> a) {
    return {b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a.v)};
  }
  template <int k>
  Typed<k> trunc(Typed<k> a) {
    return {b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a.v)};
  }
  D sqrt(D a) { return {b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a.v)}; }
  template <int k>
  Typed<k> copysign(Typed<k> a, Typed<k> c) {
    return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a.v, c.v)};
  }
  template <int k>
  M less(Typed<k> a, Typed<k> c) {
    return {b_.CreateFCmpOLT(a.v, c.v)};
  }
  template <int k>
  M equal(Typed<k> a, Typed<k> c) {
    return {b_.CreateFCmpOEQ(a.v, c.v)};
  }
  M both(M a, M c) { return {b_.CreateAnd(a.v, c.v)}; }
  M either(M a, M c) { return {b_.CreateOr(a.v, c.v)}; }
  M negated(M a) { return {b_.CreateNot(a.v)}; }
  template <int k>
  Typed<k> select(M m, Typed<k> a, Typed<k> c) {
    return {b_.CreateSelect(m.v, a.v, c.v)};
  }

  I bits(F v) { return {b_.CreateBitCast(v.v, type(b_.getInt32Ty()))}; }
  L bits(D v) { return {b_.CreateBitCast(v.v, type(b_.getInt64Ty()))}; }
  F floating(I v) { return {b_.CreateBitCast(v.v, type(b_.getFloatTy()))}; }
  D floating(L v) { return {b_.CreateBitCast(v.v, type(b_.getDoubleTy()))}; }
  template <int k>
  Typed<k> plus(Typed<k> a, Typed<k> c) {
    return {b_.CreateAdd(a.v, c.v)};
  }
  template <int k>
  Typed<k> minus(Typed<k> a, Typed<k> c) {
    return {b_.CreateSub(a.v, c.v)};
  }
  template <int k>
  Typed<k> bit_and(Typed<k> a, Typed<k> c) {
    return {b_.CreateAnd(a.v, c.v)};
  }
  template <int k>
  Typed<k> shl(Typed<k> a, int n) {
    return {b_.CreateShl(a.v, std::uint64_t(n))};
  }
  template <int k>
  Typed<k> sar(Typed<k> a, int n) {
    return {b_.CreateAShr(a.v, std::uint64_t(n))};
  }
  F number(I v) { return {b_.CreateSIToFP(v.v, type(b_.getFloatTy()))}; }
  D number(L v) { return {b_.CreateSIToFP(v.v, type(b_.getDoubleTy()))}; }
  D wide(F v) { return {b_.CreateFPExt(v.v, type(b_.getDoubleTy()))}; }
  F narrow(D v) { return {b_.CreateFPTrunc(v.v, type(b_.getFloatTy()))}; }
  M odd(L v, int bit) { return {b_.CreateICmpNE(bit_and(v, l(std::int64_t(1) << bit)).v, l(0).v)}; }
  F rare(M m, F x, std::string_view function, F y) { return {rare_(m.v, x.v, function, y.v)}; }

 private:
  llvm::Type* type(llvm::Type* element) { return lanes_ > 1 ? llvm::FixedVectorType::get(element, lanes_) : element; }

  Builder& b_;
  unsigned lanes_;
  Rare rare_;
  Builder::FastMathFlagGuard strict_;
};

}  // namespace rldb::codegen
