// Calls of the helper before every access of the optimised code, and the helper.
#include "codegen/llvm/engine/accesses.h"

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <pthread.h>

#include "codegen/llvm/engine/helpers.h"
#include "rldb/support/text.h"

namespace rldb::codegen {

using runtime::Value;
using runtime::ValueKind;

namespace {

class Instrument {
 public:
  explicit Instrument(llvm::Module& module) : layout_(module.getDataLayout()), b_(module.getContext()) {
    helper_ = module.getOrInsertFunction(
        kAccessHelper, llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false));
  }

  void function(llvm::Function& f) {
    std::vector<llvm::Instruction*> all;
    for (llvm::BasicBlock& block : f)
      for (llvm::Instruction& i : block) all.push_back(&i);
    for (llvm::Instruction* i : all) {
      b_.SetInsertPoint(i);
      instruction(*i);
    }
    f.removeFnAttr(llvm::Attribute::Memory);
  }

 private:
  void instruction(llvm::Instruction& i) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
      whole(load->getPointerOperand(), load->getType());
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      whole(store->getPointerOperand(), store->getValueOperand()->getType());
    } else if (auto* move = llvm::dyn_cast<llvm::MemTransferInst>(&i)) {
      bytes(move->getSource(), move->getLength());
      bytes(move->getDest(), move->getLength());
    } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&i)) {
      bytes(set->getDest(), set->getLength());
    } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
      intrinsic(*call);
    }
  }

  void intrinsic(llvm::IntrinsicInst& call) {
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::masked_load:
        return lanes(call.getArgOperand(0), call.getArgOperand(2), call.getType());
      case llvm::Intrinsic::masked_store:
        return lanes(call.getArgOperand(1), call.getArgOperand(3), call.getArgOperand(0)->getType());
      case llvm::Intrinsic::masked_gather:
        return lanes(call.getArgOperand(0), call.getArgOperand(2), call.getType());
      case llvm::Intrinsic::masked_scatter:
        return lanes(call.getArgOperand(1), call.getArgOperand(3), call.getArgOperand(0)->getType());
      default:
        return;
    }
  }

  // Memory of the function itself, and constants, are LLVM's: their accesses cannot be confused with those of a buffer.
  static bool is_own(llvm::Value* address) {
    const llvm::Value* object = llvm::getUnderlyingObject(address, 0);
    return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object);
  }

  void whole(llvm::Value* address, llvm::Type* type) {
    bytes(address, b_.getInt64(layout_.getTypeStoreSize(type).getFixedValue()));
  }

  void bytes(llvm::Value* address, llvm::Value* size) {
    if (!is_own(address)) b_.CreateCall(helper_, {address, b_.CreateZExtOrTrunc(size, b_.getInt64Ty())});
  }

  // `address`: of the first lane, or one per lane.
  void lanes(llvm::Value* address, llvm::Value* mask, llvm::Type* type) {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    llvm::Type* element = vector->getElementType();
    const std::uint64_t size = layout_.getTypeStoreSize(element).getFixedValue();
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      llvm::Value* at = address->getType()->isVectorTy() ? b_.CreateExtractElement(address, std::uint64_t(i))
                                                         : b_.CreateConstGEP1_64(element, address, i);
      if (is_own(at)) continue;
      llvm::Value* on = b_.CreateExtractElement(mask, std::uint64_t(i));
      b_.CreateCall(helper_, {at, b_.CreateSelect(on, b_.getInt64(size), b_.getInt64(0))});
    }
  }

  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> b_;
  llvm::FunctionCallee helper_;
};

struct Range {
  const std::byte* begin = nullptr;
  std::size_t size = 0;
  bool holds(const std::byte* at, std::size_t bytes) const {
    return at >= begin && bytes <= size && std::size_t(at - begin) <= size - bytes;
  }
};

Range range_of(const Value& v) {
  if (v.is(ValueKind::Tensor)) return {v.as_tensor().address(), v.as_tensor().byte_size()};
  if (v.is(ValueKind::Storage)) return {v.storage_ref()->address(), v.storage_ref()->size()};
  return {};
}

// Local memory whose address went through a choice.
bool on_this_stack(const std::byte* at) {
  static thread_local Range stack = [] {
    pthread_attr_t attributes;
    void* begin = nullptr;
    std::size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return Range{};
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    return Range{static_cast<const std::byte*>(begin), size};
  }();
  return stack.holds(at, 1);
}

}  // namespace

void check_accesses_again(llvm::Module& module) {
  Instrument instrument(module);
  // The entry reads the words of its arguments, which are not of a buffer.
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && f.hasLocalLinkage()) instrument.function(f);
}

void note_access(const void* address, long long bytes) {
  Run* run = current_run();
  if (bytes == 0 || !run || run->error) return;
  const auto* at = static_cast<const std::byte*>(address);
  const auto size = std::size_t(bytes);
  for (const Value& v : run->args)
    if (range_of(v).holds(at, size)) return;
  for (const auto& s : run->allocations)
    if (Range{s->address(), s->size()}.holds(at, size)) return;
  for (const auto& s : run->panels)
    if (s && Range{s->address(), s->size()}.holds(at, size)) return;
  if (on_this_stack(at)) return;
  run->error = runtime::Error{runtime::ErrorKind::OutOfBounds,
                              fmt::format("the optimised code accesses {} outside of its buffers",
                                          support::counted(std::size_t(bytes), "byte")),
                              {"the access was in bounds as it is written: a fault of the code generator"}};
}

}  // namespace rldb::codegen
