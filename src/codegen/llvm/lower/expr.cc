// Scalar expressions: literals, variables, conditions that are lazy, vectors. Arithmetic and conversions are in
// arithmetic.cc, indices in index.cc; all three ask each other, under one state of lanes and widths.
#include <fmt/format.h>

#include "codegen/llvm/lower/depth.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;

namespace {

// Wider vectors make LLVM's code generation slow beyond measure.
constexpr int kMaxVectorLanes = 512;

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
