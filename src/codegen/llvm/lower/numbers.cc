// Notes of a kernel on the numbers that it writes, for catchpoints: one word per call. A search through its outputs
// afterwards takes a third of the time of a kernel that only moves memory.
#include <cstddef>

#include "codegen/llvm/engine/compile.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/walk.h"

namespace rldb::codegen {

using ir::as;
using runtime::NumericEvent;

namespace {

// Memory that the function allocates for itself.
std::unordered_set<const ir::Var*> allocated(const ir::PrimFunc* f) {
  std::unordered_set<const ir::Var*> own;
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* block = as<ir::SBlock>(n))
      for (const ir::Buffer* b : block->alloc_buffers) own.insert(b->data);
    if (const auto* s = as<ir::AllocBuffer>(n)) own.insert(s->buffer->data);
    if (const auto* s = as<ir::AllocateStmt>(n)) own.insert(s->var);
    return true;
  });
  return own;
}

bool is_float(DType t) { return t.is_float() || t.code == runtime::TypeCode::BFloat; }

// A sum in progress: each of its terms is stored, so that checking all stores costs more than the search.
bool reads_what_it_writes(const ir::BufferStore* s) {
  bool reads = false;
  ir::walk(s->value, [&](const ir::Node* n) {
    if (const auto* load = as<ir::BufferLoad>(n)) reads = reads || load->buffer->data == s->buffer->data;
    return !reads;
  });
  return reads;
}

// Whether a call may write other than by a store of the kernel.
bool may_write_elsewhere(const ir::Call* c) {
  if (ir::is_call_of(c, ir::intrin::Ret) || ir::is_call_of(c, ir::intrin::BreakLoop) ||
      ir::is_call_of(c, ir::intrin::ContinueLoop) || ir::is_call_of(c, ir::intrin::TvmStorageSync))
    return false;
  const ir::IntrinsicInfo* row = ir::called_intrinsic(c);
  return !row || row->purity != ir::IntrinsicPurity::Pure;
}

}  // namespace

bool can_note_numbers(const ir::PrimFunc* f) {
  const std::unordered_set<const ir::Var*> own = allocated(f);
  bool can = true;
  ir::walk(f->body, [&](const ir::Node* n) {
    if (const auto* c = as<ir::Call>(n)) can = can && !may_write_elsewhere(c);
    if (const auto* s = as<ir::BufferStore>(n); s && !own.contains(s->buffer->data) && is_float(s->buffer->dtype))
      can = can && s->buffer->dtype.lanes == 1 && !reads_what_it_writes(s);
    return can;
  });
  return can;
}

void Lowering::prepare_notes(const ir::PrimFunc* f) {
  if (options_.events != 0) own_memory_ = allocated(f);
}

// One bit per lane: whether the number is one of those looked for.
Lowering::Value* Lowering::is_event(Value* v, DType t) {
  Value* found = nullptr;
  const auto add = [&](NumericEvent event, const std::function<Value*()>& test) {
    if (!(options_.events & bit(event))) return;
    Value* holds = test();
    found = found ? b_.CreateOr(found, holds) : holds;
  };
  llvm::Type* type = v->getType();
  const auto magnitude = [&] { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  add(NumericEvent::NaN, [&] { return b_.CreateFCmpUNO(v, v); });
  add(NumericEvent::Inf, [&] { return b_.CreateFCmpOEQ(magnitude(), llvm::ConstantFP::getInfinity(type)); });
  add(NumericEvent::Denormal, [&] {
    Value* small = b_.CreateFCmpOLT(magnitude(), llvm::ConstantFP::get(type, runtime::smallest_normal(t)));
    return b_.CreateAnd(small, b_.CreateFCmpONE(v, llvm::Constant::getNullValue(type)));
  });
  return found;
}

void Lowering::note_number(const ir::Buffer* b, Value* v, Value* mask) {
  if (options_.events == 0 || !is_float(b->dtype) || own_memory_.contains(b->data)) return;
  Value* found = is_event(v, b->dtype.element());
  if (!found) return;
  const unsigned lanes = lanes_of(v);
  // A number that no lane stores may be noted: the search that follows does not find it.
  if (mask && lanes_of(mask) == lanes) found = b_.CreateAnd(found, mask);
  // As wide as the numbers, so that lanes stay where the comparison leaves them.
  llvm::Type* wide = b_.getIntNTy(v->getType()->getScalarSizeInBits());
  if (lanes > 1) wide = llvm::FixedVectorType::get(wide, lanes);
  llvm::AllocaInst*& note = notes_[wide];
  if (!note) {
    llvm::IRBuilder<> first(&body_->getEntryBlock(), body_->getEntryBlock().begin());
    note = first.CreateAlloca(wide, nullptr, "noted");
    first.CreateStore(llvm::Constant::getNullValue(wide), note);
  }
  b_.CreateStore(b_.CreateOr(b_.CreateLoad(wide, note), b_.CreateSExt(found, wide)), note);
}

// All returns without a fault go through one place, where all notes have been made.
void Lowering::return_well() {
  if (!done_) done_ = new_block("done");
  b_.CreateBr(done_);
}

void Lowering::finish() {
  if (!terminated()) return_well();
  if (!done_) return;
  b_.SetInsertPoint(done_);
  Value* any = nullptr;
  for (const auto& [type, note] : notes_) {
    Value* all = b_.CreateLoad(type, note);
    if (type->isVectorTy()) all = b_.CreateOrReduce(all);
    Value* found = b_.CreateICmpNE(all, llvm::Constant::getNullValue(all->getType()));
    any = any ? b_.CreateOr(any, found) : found;
  }
  constexpr std::size_t kWord = offsetof(runtime::KernelFault, noted) / sizeof(std::int64_t);
  if (any)
    b_.CreateStore(b_.CreateZExt(any, b_.getInt64Ty()), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), fault_, kWord));
  b_.CreateRet(b_.getInt32(0));
}

}  // namespace rldb::codegen
