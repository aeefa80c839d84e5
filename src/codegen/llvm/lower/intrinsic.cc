// Intrinsics of TensorIR: eval's table, as LLVM intrinsics or calls of the C library.
#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/engine/helpers.h"
#include "codegen/llvm/lower/formula.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/lowered_name.h"
#include "rldb/ir/pointed_buffer.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/threads.h"
#include "rldb/runtime/float_formula.h"

namespace rldb::codegen {

using ir::as;

// By row of intrinsic.def: a row of kind Own without a member function does not compile.
Lowering::Value* Lowering::intrinsic(const ir::IntrinsicInfo& row, const Operands& in) {
  using Body = Value* (*)(Lowering&, const Operands&);
#define RLDB_LLVM_Libm1(f) [](Lowering& l, const Operands& in) { return l.library(#f, in); }
#define RLDB_LLVM_Libm2(f) RLDB_LLVM_Libm1(f)
#define RLDB_LLVM_Formula1(f)                                                   \
  [](Lowering& l, const Operands& in) {                                         \
    return l.formula(#f, in, [](FormulaCode& o, const std::vector<Value*>& x) { \
      return runtime::formula::f(o, FormulaCode::F{x[0]}).v;                    \
    });                                                                         \
  }
#define RLDB_LLVM_Formula2(f)                                                      \
  [](Lowering& l, const Operands& in) {                                            \
    return l.formula(#f, in, [](FormulaCode& o, const std::vector<Value*>& x) {    \
      return runtime::formula::f(o, FormulaCode::F{x[0]}, FormulaCode::F{x[1]}).v; \
    });                                                                            \
  }
#define RLDB_LLVM_Native(f) [](Lowering& l, const Operands& in) { return l.native(llvm::Intrinsic::f, in); }
#define RLDB_LLVM_Own(f) [](Lowering& l, const Operands& in) { return l.f(in); }
#define RLDB_LLVM_Form nullptr
#define RLDB_LLVM_Eval nullptr
#define RLDB_LLVM_None nullptr
  static constexpr Body kBodies[] = {
#define RLDB_INTRINSIC(id, name, arity, dtype, purity, evaluate) RLDB_LLVM_##evaluate,
#include "rldb/ir/intrinsic/intrinsic.def"
  };
  const Body body = kBodies[row.index];
  return body ? body(*this, in) : nullptr;
}

Lowering::Value* Lowering::call(const ir::Call* c) {
  if (!as<ir::Op>(c->callee)) refuse("there is no code for the call " + where(c));
  if (ir::is_call_of(c, ir::intrin::IfThenElse)) return choose(c->args[0], c->args[1], c->args[2]);
  if (ir::is_call_of(c, ir::intrin::Reinterpret)) return reinterpret(c);
  const bool is_ret = ir::is_call_of(c, ir::intrin::Ret) && c->args.size() == 1;
  if (is_ret || ir::is_call_of(c, ir::intrin::Likely)) return value(c->args[0]);
  if (ir::is_call_of(c, ir::intrin::TvmCallPacked) || ir::is_call_of(c, ir::intrin::TvmCallCpacked))
    return call_packed(c);
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  if (options_.device && ir::meeting_of(c) != ir::Meeting::None) return exchange(c);
  if (ir::is_multiply_add(c)) return multiply_add(operands(c, 3, ir::first_operand(c)));
  if (const ir::LlvmFunction* f = ir::called_llvm_function(c))
    return llvm_function(*f, operands(c, f->arity, ir::first_operand(c)));
  if (ir::is_call_of(c, ir::intrin::QMultiplyShift) || ir::is_call_of(c, ir::intrin::QMultiplyShiftPerAxis))
    return fixed_point_product(c);
  if (Value* made = lanes_call(c)) return made;
  if (const ir::IntrinsicInfo* named = ir::named_intrinsic(c))
    if (Value* made = intrinsic(*named, operands(c, named->arity, ir::first_operand(c)))) return made;
  const bool scalar = !c->args.empty() && !c->args[0]->dtype().is_void() && !c->args[0]->dtype().is_handle();
  if (row && scalar && row->arity > 0 && std::size_t(row->arity) <= c->args.size())
    if (Value* made = intrinsic(*row, operands(c, row->arity))) return made;
  std::string_view op = as<ir::Op>(c->callee)->name;
  if (ir::is_tir_op(c->callee)) op.remove_prefix(ir::kTirPrefix.size());
  const std::string_view function = ir::function_name(c);
  refuse(fmt::format("there is no code for `T.{}{}`", op, function.empty() ? "" : fmt::format("(\"{}\")", function)));
}

// The arguments, as many as the row requires, as vectors when one of them is.
Lowering::Operands Lowering::operands(const ir::Call* c, int count, std::size_t first) {
  Operands in{c, first, c->args[first]->dtype().element(), {}};
  for (int i = 0; i < count; ++i) in.values.push_back(value(c->args[first + std::size_t(i)]));
  unsigned lanes = 0;
  for (Value* v : in.values) lanes = std::max(lanes, v->getType()->isVectorTy() ? lanes_of(v) : 0u);
  for (Value*& v : in.values) v = splat(v, lanes);
  return in;
}

// A call of the C library, one lane at a time; LLVM may not reason about it by its name (its rewrites change bits).
Lowering::Value* Lowering::libm(std::string_view name, std::vector<Value*> args) {
  unsigned lanes = 0;
  for (Value* a : args) lanes = std::max(lanes, a->getType()->isVectorTy() ? lanes_of(a) : 0u);
  for (Value*& a : args) a = splat(a, lanes);
  std::vector<llvm::Type*> types;
  for (Value* a : args) types.push_back(a->getType()->getScalarType());
  auto callee = helper(name, types[0], types, true);
  return per_lane(args[0], [&](unsigned i) -> Value* {
    std::vector<Value*> parts;
    for (Value* a : args) parts.push_back(lane(a, i));
    auto* made = b_.CreateCall(callee, parts);
    made->addFnAttr(llvm::Attribute::NoBuiltin);
    return made;
  });
}

// f, or ff for float32 and narrower.
Lowering::Value* Lowering::library(std::string_view f, const Operands& in) {
  if (!in.is_float()) return nullptr;
  if (f == "fmod" && !in.is_double()) return float_mod(in.values[0], in.values[1]);
  return round_narrow(libm(in.is_double() ? std::string(f) : std::string(f) + "f", in.values), in.element);
}

// The formula in float, the C library in double.
Lowering::Value* Lowering::formula(std::string_view f, const Operands& in, FormulaBody body) {
  if (!in.is_float()) return nullptr;
  if (in.is_double()) return libm(f, in.values);
  FormulaCode code(b_, width_of(in.values[0]),
                   [&](Value* c, Value* x, std::string_view library, Value* y) { return rare(c, {x}, library, y); });
  return round_narrow(body(code, in.values), in.element);
}

// The C library's remainder, which is exact, of floats in double: a quotient below 2^29 times the divisor is exact
// there. The quotient may be rounded up to the next whole number, which makes the remainder negative.
Lowering::Value* Lowering::float_mod(Value* a, Value* b) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags({});
  const unsigned lanes = a->getType()->isVectorTy() ? lanes_of(a) : 0;
  llvm::Type* wide = value_type(DType::Float(64), lanes);
  const auto size = [&](Value* v) { return b_.CreateFPExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), wide); };
  const auto real = [&](double n) { return llvm::ConstantFP::get(wide, n); };
  Value *x = size(a), *y = size(b);
  Value* q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b_.CreateFDiv(x, y));
  Value* left = b_.CreateFSub(x, b_.CreateFMul(q, y));
  left = b_.CreateSelect(b_.CreateFCmpOLT(left, real(0)), b_.CreateFAdd(left, y), left);
  Value* usual = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, b_.CreateFPTrunc(left, a->getType()), a);
  Value* seldom =
      b_.CreateOr(b_.CreateFCmpUGE(q, real(0x1p29)), b_.CreateFCmpOEQ(y, llvm::ConstantFP::getInfinity(wide)));
  return rare(seldom, {a, b}, "fmodf", usual);
}

// y, but the C library's function of x in the lanes where the condition holds, which is seldom.
Lowering::Value* Lowering::rare(Value* condition, const std::vector<Value*>& x, std::string_view library, Value* y) {
  if (options_.device) {
    Value* any = condition->getType()->isVectorTy() ? b_.CreateOrReduce(condition) : condition;
    fault_if(any, runtime::ErrorKind::Unsupported,
             fmt::format("the device has no `{}` of a number of that size", library.substr(0, library.size() - 1)), {});
    return y;
  }
  Block* call = new_block("rare");
  Block* end = new_block("usual");
  Block* before = b_.GetInsertBlock();
  Value* any = condition->getType()->isVectorTy() ? b_.CreateOrReduce(condition) : condition;
  b_.CreateCondBr(any, call, end, llvm::MDBuilder(c_).createBranchWeights(1, 1u << 20));
  b_.SetInsertPoint(call);
  Value* called = b_.CreateSelect(condition, libm(library, x), y);
  Block* after = b_.GetInsertBlock();
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  llvm::PHINode* made = b_.CreatePHI(y->getType(), 2);
  made->addIncoming(y, before);
  made->addIncoming(called, after);
  return made;
}

Lowering::Value* Lowering::native(llvm::Intrinsic::ID f, const Operands& in) {
  return in.is_float() ? round_narrow(b_.CreateUnaryIntrinsic(f, in.values[0]), in.element) : nullptr;
}

// ---- floats ----

Lowering::Value* Lowering::exp10(const Operands& in) {
  if (!in.is_float()) return nullptr;
  Operands power = in;  // of ten, as in eval
  power.values = {llvm::ConstantFP::get(in.values[0]->getType(), 10.0), in.values[0]};
  return formula("pow", power, [](FormulaCode& o, const std::vector<Value*>& x) {
    return runtime::formula::pow(o, FormulaCode::F{x[0]}, FormulaCode::F{x[1]}).v;
  });
}

Lowering::Value* Lowering::rsqrt(const Operands& in) {
  if (!in.is_float()) return nullptr;
  Value* x = in.values[0];
  Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
  return round_narrow(b_.CreateFDiv(one, b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)), in.element);
}

Lowering::Value* Lowering::sigmoid(const Operands& in) {
  if (!in.is_float()) return nullptr;
  if (!in.is_double())
    return formula("", in, [](FormulaCode& o, const std::vector<Value*>& x) {
      return runtime::formula::sigmoid(o, FormulaCode::F{x[0]}).v;
    });
  Value* x = in.values[0];
  Value* one = llvm::ConstantFP::get(x->getType(), 1.0);
  return b_.CreateFDiv(one, b_.CreateFAdd(one, libm("exp", {b_.CreateFNeg(x)})));
}

Lowering::Value* Lowering::copysign(const Operands& in) {
  return in.is_float() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, in.values[0], in.values[1]) : nullptr;
}

Lowering::Value* Lowering::fma(const Operands& in) {
  if (!in.is_float()) return nullptr;
  for (Value* v : in.values)
    if (v->getType() != in.values[0]->getType()) return nullptr;
  return round_narrow(b_.CreateIntrinsic(llvm::Intrinsic::fma, {in.values[0]->getType()}, in.values), in.element);
}

// Rounded after the product and after the sum, as eval.
Lowering::Value* Lowering::multiply_add(const Operands& in) {
  if (!in.is_float()) refuse("there is no code for a fused multiplication of " + where(in.call));
  Value* product = round_narrow(b_.CreateFMul(in.values[0], in.values[1]), in.element);
  return round_narrow(b_.CreateFAdd(product, in.values[2]), in.element);
}

// In double, then rounded, as eval.
Lowering::Value* Lowering::ldexp(const Operands& in) {
  const DType exponent = in.operand(1)->dtype();
  if (!in.is_float() || exponent.is_float()) return nullptr;
  Value* x = in.values[0];
  Value* power = convert(in.values[1], exponent, DType::Int(32));
  Value* out = per_lane(x, [&](unsigned i) {
    Value* wide = in.is_double() ? lane(x, i) : b_.CreateFPExt(lane(x, i), b_.getDoubleTy());
    return b_.CreateCall(helper("ldexp", b_.getDoubleTy(), {b_.getDoubleTy(), b_.getInt32Ty()}, true),
                         {wide, lane(power, i)});
  });
  return convert(out, DType::Float(64), in.element);
}

// ---- floats and integers ----

Lowering::Value* Lowering::absolute(const Operands& in) {
  Value* x = in.values[0];
  if (in.is_float()) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  return in.element.is_int() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse()) : x;
}

Lowering::Value* Lowering::is_nan(const Operands& in) {
  Value* x = in.values[0];
  return in.is_float() ? b_.CreateFCmpUNO(x, x) : splat(b_.getFalse(), width_of(x));
}

Lowering::Value* Lowering::is_inf(const Operands& in) {
  Value* x = in.values[0];
  if (!in.is_float()) return splat(b_.getFalse(), width_of(x));
  return b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                          llvm::ConstantFP::getInfinity(x->getType()));
}

Lowering::Value* Lowering::is_finite(const Operands& in) {
  Value* x = in.values[0];
  if (!in.is_float()) return splat(b_.getTrue(), width_of(x));
  return b_.CreateFCmpONE(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                          llvm::ConstantFP::getInfinity(x->getType()));
}

// ---- integers ----

Lowering::Value* Lowering::counted(Value* v, const Operands& in) {
  return b_.CreateIntCast(v, value_type(in.call->dtype().element(), width_of(v)), false);
}
Lowering::Value* Lowering::popcount(const Operands& in) {
  return in.is_float() ? nullptr : counted(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, in.values[0]), in);
}
Lowering::Value* Lowering::clz(const Operands& in) {
  if (in.is_float()) return nullptr;
  return counted(b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, in.values[0], b_.getFalse()), in);
}
Lowering::Value* Lowering::bit_not(const Operands& in) { return in.is_float() ? nullptr : b_.CreateNot(in.values[0]); }
Lowering::Value* Lowering::bit_and(const Operands& in) {
  return in.is_float() ? nullptr : b_.CreateAnd(in.values[0], in.values[1]);
}
Lowering::Value* Lowering::bit_or(const Operands& in) {
  return in.is_float() ? nullptr : b_.CreateOr(in.values[0], in.values[1]);
}
Lowering::Value* Lowering::bit_xor(const Operands& in) {
  return in.is_float() ? nullptr : b_.CreateXor(in.values[0], in.values[1]);
}
Lowering::Value* Lowering::shift_left(const Operands& in) { return in.is_float() ? nullptr : shift(in, true); }
Lowering::Value* Lowering::shift_right(const Operands& in) { return in.is_float() ? nullptr : shift(in, false); }

// The count is taken modulo 64, in 64 bits, as eval.
Lowering::Value* Lowering::shift(const Operands& in, bool left) {
  Value* x = in.values[0];
  llvm::Type* word = value_type(DType::Int(64), width_of(x));
  Value* count =
      b_.CreateAnd(to_index(in.values[1], in.operand(1)->dtype().element()), llvm::ConstantInt::get(word, 63));
  Value* wide = b_.CreateIntCast(x, word, in.element.is_int());
  Value* moved = left                  ? b_.CreateShl(wide, count)
                 : in.element.is_int() ? b_.CreateAShr(wide, count)
                                       : b_.CreateLShr(wide, count);
  return b_.CreateTrunc(moved, x->getType());
}

Lowering::Value* Lowering::reinterpret(const ir::Call* c) {
  const DType from = c->args[0]->dtype();
  const DType to = c->dtype();
  if (from.is_handle() || to.is_handle()) return convert(value(c->args[0]), from, to);
  Value* bits = to_memory(value(c->args[0]), from.element());
  const unsigned vector = bits->getType()->isVectorTy() ? lanes_of(bits) : 0;
  llvm::Type* wanted = memory_type(to.element());
  if (bits->getType()->getScalarSizeInBits() != wanted->getPrimitiveSizeInBits()) {
    if (to.lanes > 1) wanted = llvm::FixedVectorType::get(wanted, unsigned(to.lanes));
    if (from.bits % 8 != 0 || to.bits % 8 != 0 || vector != (from.lanes > 1 ? unsigned(from.lanes) : 0) ||
        bits->getType()->getPrimitiveSizeInBits() != wanted->getPrimitiveSizeInBits())
      refuse(fmt::format("T.reinterpret from {} to {} changes the size", runtime::to_string(from),
                         runtime::to_string(to)));
    return from_memory(b_.CreateBitCast(bits, wanted), to.element());
  }
  if (vector) wanted = llvm::FixedVectorType::get(wanted, vector);
  return from_memory(b_.CreateBitCast(bits, wanted), to.element());
}

// The memory of the view as rows of these dims, without gaps.
View Lowering::in_rows(View v, ir::Span<const ir::Expr*> dims) {
  if (!v.limit) {
    v.limit = i64(1);
    for (Value* d : v.shape) v.limit = b_.CreateMul(v.limit, d);
    if (v.offset) v.limit = b_.CreateAdd(v.limit, v.offset);
  }
  v.shape.clear();
  for (const ir::Expr* d : dims) v.shape.push_back(to_index(value(d), d->dtype()));
  v.strides.assign(dims.size(), i64(1));
  for (std::size_t i = dims.size(); i-- > 1;) v.strides[i - 1] = b_.CreateMul(v.strides[i], v.shape[i]);
  return v;
}

// Through a helper that knows the registry of the run. Arguments go as rows of (kind, payload): 0 int, 1 bool, 2 float,
// 3 string, 4 buffer (pointer to [data, dtype, rank, dims...]).
Lowering::Value* Lowering::call_packed(const ir::Call* c, bool has_result) {
  const auto* name = c->args.empty() ? nullptr : as<ir::StringImm>(c->args[0]);
  if (!name) refuse("a packed call has no constant name");
  if (widened_) refuse("a packed call in a vectorised loop");
  llvm::Type* word = b_.getInt64Ty();
  const std::size_t count = c->args.size() - 1;
  const auto on_stack = [&](std::size_t words) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(&body_->getEntryBlock(), body_->getEntryBlock().begin());
    return b_.CreateAlloca(llvm::ArrayType::get(word, words));
  };
  const auto put = [&](Value* array, std::size_t at, Value* v) {
    b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(word, array, at));
  };
  Value* rows = on_stack(std::max<std::size_t>(1, 2 * count));
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Expr* e = c->args[i + 1];
    PackedArgument kind = PackedArgument::Int;
    Value* payload = nullptr;
    ir::PointedBuffer memory(e);
    for (const auto& [buffer, made] : views_) memory.offer(buffer);
    if (const auto* s = as<ir::StringImm>(e)) {
      kind = PackedArgument::String;
      payload = b_.CreatePtrToInt(b_.CreateGlobalString(llvm::StringRef(s->value)), word);
    } else if (const ir::Buffer* b = memory.found()) {
      const View v = memory.has_other_dims() ? in_rows(view(b), memory.dims()) : view(b);
      check_whole(b, v);
      kind = PackedArgument::Buffer;
      Value* about = on_stack(3 + 2 * v.shape.size());
      Value* data = v.offset ? b_.CreateInBoundsGEP(memory_type(b->dtype), v.base, v.offset) : v.base;
      put(about, 0, b_.CreatePtrToInt(data, word));
      put(about, 1,
          i64(std::int64_t(b->dtype.code) | std::int64_t(b->dtype.bits) << 8 | std::int64_t(b->dtype.lanes) << 16));
      put(about, 2, i64(std::int64_t(v.shape.size())));
      for (std::size_t d = 0; d < v.shape.size(); ++d) {
        put(about, 3 + d, v.shape[d]);
        put(about, 3 + v.shape.size() + d, v.strides[d]);
      }
      payload = b_.CreatePtrToInt(about, word);
    } else {
      const DType t = e->dtype();
      if (t.lanes != 1 || t.is_void() || t.is_handle())
        refuse("a packed call has an argument without code: " + where(e));
      Value* v = value(e);
      kind = t.is_float() ? PackedArgument::Float : t.is_bool() ? PackedArgument::Bool : PackedArgument::Int;
      payload = t.is_float() ? b_.CreateBitCast(convert(v, t, DType::Float(64)), word) : to_index(v, t);
    }
    put(rows, 2 * i, i64(static_cast<std::int64_t>(kind)));
    put(rows, 2 * i + 1, payload);
  }
  // The result: its words are (int, bits of a double). Null: nobody reads it, so that it may be anything.
  Value* result = has_result ? on_stack(2) : static_cast<Value*>(llvm::ConstantPointerNull::get(b_.getPtrTy()));
  Value* failed =
      b_.CreateCall(helper("rldb_call_packed", b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), word, b_.getPtrTy()}),
                    {b_.CreateGlobalString(llvm::StringRef(name->value)), rows, i64(std::int64_t(count)), result});
  fault_from_helper(b_.CreateICmpNE(failed, b_.getInt32(0)));
  if (!has_result) return nullptr;
  const DType t = c->dtype();
  if (t.is_float())
    return convert(b_.CreateLoad(b_.getDoubleTy(), b_.CreateConstInBoundsGEP1_64(word, result, 1)), DType::Float(64),
                   t);
  Value* number = b_.CreateLoad(word, result);
  return t.is_void() || t.is_handle() ? number : convert(number, DType::Int(64), t);
}

}  // namespace rldb::codegen
