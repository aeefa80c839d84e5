// Intrinsics of TensorIR: eval's table, as LLVM intrinsics or calls of the C library.
#include <fmt/format.h>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/printer.h"

namespace rldb::codegen {

using ir::as;

namespace {

struct Libm {
  std::string_view name;  // of the intrinsic
  const char* f64;
  const char* f32;
  int arity;
};
// exp10 is a power of ten, as in eval.
constexpr Libm kLibm[] = {
    {"exp", "exp", "expf", 1},       {"exp2", "exp2", "exp2f", 1},    {"log", "log", "logf", 1},
    {"log2", "log2", "log2f", 1},    {"log10", "log10", "log10f", 1}, {"log1p", "log1p", "log1pf", 1},
    {"tanh", "tanh", "tanhf", 1},    {"erf", "erf", "erff", 1},       {"sin", "sin", "sinf", 1},
    {"cos", "cos", "cosf", 1},       {"tan", "tan", "tanf", 1},       {"asin", "asin", "asinf", 1},
    {"acos", "acos", "acosf", 1},    {"atan", "atan", "atanf", 1},    {"sinh", "sinh", "sinhf", 1},
    {"cosh", "cosh", "coshf", 1},    {"asinh", "asinh", "asinhf", 1}, {"acosh", "acosh", "acoshf", 1},
    {"atanh", "atanh", "atanhf", 1}, {"pow", "pow", "powf", 2},       {"fmod", "fmod", "fmodf", 2},
    {"atan2", "atan2", "atan2f", 2}, {"hypot", "hypot", "hypotf", 2}, {"nextafter", "nextafter", "nextafterf", 2},
};

struct Native {
  std::string_view name;
  llvm::Intrinsic::ID id;
};
constexpr Native kNative[] = {
    {"sqrt", llvm::Intrinsic::sqrt},   {"floor", llvm::Intrinsic::floor},     {"ceil", llvm::Intrinsic::ceil},
    {"trunc", llvm::Intrinsic::trunc}, {"round", llvm::Intrinsic::nearbyint}, {"nearbyint", llvm::Intrinsic::nearbyint},
};

bool is_packed(std::string_view name) {
  return name == "tvm_call_packed" || name == "tvm_call_cpacked" || name == "call_packed" || name == "call_cpacked";
}

}  // namespace

Lowering::Value* Lowering::call(const ir::Call* c) {
  const auto* op = as<ir::Op>(c->callee);
  if (!op) refuse("there is no code for the call " + where(c));
  std::string_view name = op->name;
  if (name.starts_with("tir.")) name.remove_prefix(4);
  if (name == "if_then_else" && c->args.size() == 3) {
    const bool cheap = speculable(c->args[1]) && speculable(c->args[2]);
    return lazy(
        c->args[0], [&] { return value(c->args[1]); }, [&] { return value(c->args[2]); }, cheap);
  }
  if (name == "reinterpret" && c->args.size() == 1) return reinterpret(c);
  if ((name == "likely" || name == "ret") && c->args.size() == 1) return value(c->args[0]);
  if (is_packed(name)) return call_packed(c);
  if (c->args.empty()) refuse(fmt::format("there is no code for `T.{}`", name));
  if (c->args[0]->dtype().is_void() || c->args[0]->dtype().is_handle())
    refuse(fmt::format("there is no code for `T.{}`", name));
  if (Value* v = c->args[0]->dtype().is_float() ? float_intrinsic(name, c) : int_intrinsic(name, c)) return v;
  refuse(fmt::format("there is no code for `T.{}`", name));
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

Lowering::Value* Lowering::float_intrinsic(std::string_view name, const ir::Call* c) {
  const DType t = c->args[0]->dtype().element();
  std::vector<Value*> args;
  for (const ir::Expr* a : c->args) {
    if (args.size() == 3) break;
    args.push_back(value(a));
  }
  unsigned lanes = 0;
  for (Value* a : args) lanes = std::max(lanes, a->getType()->isVectorTy() ? lanes_of(a) : 0u);
  for (Value*& a : args) a = splat(a, lanes);
  Value* x = args[0];
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  const auto constant = [&](double v) { return llvm::ConstantFP::get(x->getType(), v); };
  const auto rounded = [&](Value* v) { return round_narrow(v, t); };

  for (const Native& n : kNative)
    if (n.name == name) return rounded(b_.CreateUnaryIntrinsic(n.id, x));
  for (const Libm& l : kLibm) {
    if (l.name != name) continue;
    if (args.size() < std::size_t(l.arity)) return nullptr;
    args.resize(std::size_t(l.arity));
    return rounded(libm(is_double ? l.f64 : l.f32, args));
  }
  if (name == "exp10") return rounded(libm(is_double ? "pow" : "powf", {constant(10.0), x}));
  if (name == "rsqrt") return rounded(b_.CreateFDiv(constant(1.0), b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)));
  if (name == "sigmoid") {
    Value* e = libm(is_double ? "exp" : "expf", {b_.CreateFNeg(x)});
    return rounded(b_.CreateFDiv(constant(1.0), b_.CreateFAdd(constant(1.0), e)));
  }
  if (name == "fabs" || name == "abs") return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  if (name == "copysign" && args.size() >= 2) return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, args[1]);
  if (name == "fma" && args.size() >= 3)
    return rounded(b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, args[1], args[2]}));
  if (name == "ldexp" && args.size() >= 2) {
    // In double, then rounded, as eval.
    Value* power = convert(args[1], c->args[1]->dtype(), DType::Int(32));
    Value* out = per_lane(x, [&](unsigned i) {
      Value* wide = is_double ? lane(x, i) : b_.CreateFPExt(lane(x, i), b_.getDoubleTy());
      return b_.CreateCall(helper("ldexp", b_.getDoubleTy(), {b_.getDoubleTy(), b_.getInt32Ty()}, true),
                           {wide, lane(power, i)});
    });
    return convert(out, DType::Float(64), t);
  }
  if (name == "isnan") return b_.CreateFCmpUNO(x, x);
  if (name == "isinf" || name == "isfinite") {
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* inf = llvm::ConstantFP::getInfinity(x->getType());
    return name == "isinf" ? b_.CreateFCmpOEQ(size, inf) : b_.CreateFCmpONE(size, inf);
  }
  return nullptr;
}

Lowering::Value* Lowering::int_intrinsic(std::string_view name, const ir::Call* c) {
  const DType t = c->args[0]->dtype().element();
  Value* x = value(c->args[0]);
  Value* y = c->args.size() > 1 ? value(c->args[1]) : nullptr;
  if (y) unify(x, y);
  llvm::Type* type = x->getType();
  const unsigned vector = type->isVectorTy() ? lanes_of(x) : 0;
  const auto counted = [&](Value* v) { return b_.CreateIntCast(v, value_type(c->dtype().element(), vector), false); };

  if (name == "abs" || name == "fabs")
    return t.is_int() ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse()) : x;
  if (name == "popcount") return counted(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x));
  if (name == "clz") return counted(b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, b_.getFalse()));
  if (name == "bitwise_not") return b_.CreateNot(x);
  if (name == "isnan" || name == "isinf") return splat(b_.getFalse(), vector);
  if (name == "isfinite") return splat(b_.getTrue(), vector);
  if (!y) return nullptr;
  if (name == "bitwise_and") return b_.CreateAnd(x, y);
  if (name == "bitwise_or") return b_.CreateOr(x, y);
  if (name == "bitwise_xor") return b_.CreateXor(x, y);
  if (name == "shift_left" || name == "shift_right") {
    // The count is taken modulo 64, in 64 bits, as eval.
    llvm::Type* word = value_type(DType::Int(64), vector);
    Value* count = b_.CreateAnd(to_index(y, c->args[1]->dtype().element()), llvm::ConstantInt::get(word, 63));
    Value* wide = b_.CreateIntCast(x, word, t.is_int());
    Value* moved = name == "shift_left" ? b_.CreateShl(wide, count)
                   : t.is_int()         ? b_.CreateAShr(wide, count)
                                        : b_.CreateLShr(wide, count);
    return b_.CreateTrunc(moved, type);
  }
  return nullptr;
}

Lowering::Value* Lowering::reinterpret(const ir::Call* c) {
  const DType from = c->args[0]->dtype();
  const DType to = c->dtype();
  if (from.is_handle() || to.is_handle()) return convert(value(c->args[0]), from, to);
  Value* bits = to_memory(value(c->args[0]), from.element());
  const unsigned vector = bits->getType()->isVectorTy() ? lanes_of(bits) : 0;
  llvm::Type* wanted = memory_type(to.element());
  if (bits->getType()->getScalarSizeInBits() != wanted->getPrimitiveSizeInBits())
    refuse(
        fmt::format("T.reinterpret from {} to {} changes the size", runtime::to_string(from), runtime::to_string(to)));
  if (vector) wanted = llvm::FixedVectorType::get(wanted, vector);
  return from_memory(b_.CreateBitCast(bits, wanted), to.element());
}

// Through a helper that knows the registry of the run. Arguments go as rows of (kind, payload): 0 int, 1 bool, 2 float,
// 3 string, 4 buffer (pointer to [data, dtype, rank, dims...]).
Lowering::Value* Lowering::call_packed(const ir::Call* c) {
  const auto* name = c->args.empty() ? nullptr : as<ir::StringImm>(c->args[0]);
  if (!name) refuse("a packed call has no constant name");
  if (widened_) refuse("a packed call stands in a widened loop");
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
  const auto buffer_of = [&](const ir::Expr* e) -> const ir::Buffer* {
    if (const auto* inner = as<ir::Call>(e)) {
      const auto* op = as<ir::Op>(inner->callee);
      if (op && op->name == "tir.tvm_stack_make_array" && !inner->args.empty()) e = inner->args[0];
    }
    const auto* v = as<ir::Var>(e);
    if (!v) return nullptr;
    for (const auto& [buffer, made] : views_)
      if (buffer->data == v) return buffer;
    return nullptr;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Expr* e = c->args[i + 1];
    std::int64_t kind = 0;
    Value* payload = nullptr;
    if (const auto* s = as<ir::StringImm>(e)) {
      kind = 3;
      payload = b_.CreatePtrToInt(b_.CreateGlobalString(llvm::StringRef(s->value)), word);
    } else if (const ir::Buffer* b = buffer_of(e)) {
      const View& v = view(b);
      check_whole(b, v);
      kind = 4;
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
      kind = t.is_float() ? 2 : t.is_bool() ? 1 : 0;
      payload = t.is_float() ? b_.CreateBitCast(convert(v, t, DType::Float(64)), word) : to_index(v, t);
    }
    put(rows, 2 * i, i64(kind));
    put(rows, 2 * i + 1, payload);
  }
  // The result: its words are (int, bits of a double).
  Value* result = on_stack(2);
  Value* failed =
      b_.CreateCall(helper("rldb_call_packed", b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy(), word, b_.getPtrTy()}),
                    {b_.CreateGlobalString(llvm::StringRef(name->value)), rows, i64(std::int64_t(count)), result});
  fault_from_helper(b_.CreateICmpNE(failed, b_.getInt32(0)));
  const DType t = c->dtype();
  if (t.is_float())
    return convert(b_.CreateLoad(b_.getDoubleTy(), b_.CreateConstInBoundsGEP1_64(word, result, 1)), DType::Float(64),
                   t);
  Value* number = b_.CreateLoad(word, result);
  return t.is_void() || t.is_handle() ? number : convert(number, DType::Int(64), t);
}

}  // namespace rldb::codegen
