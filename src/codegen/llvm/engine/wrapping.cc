#include "codegen/llvm/engine/wrapping.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Metadata.h>

namespace rldb::codegen {

namespace {

constexpr const char* kVectorize = "llvm.loop.vectorize.enable";
constexpr const char* kHasWrapping = "rldb-wrapping-index";  // of functions

// The recurrence of a loop is below a change of width.
bool wraps_in(const llvm::SCEV* index, const llvm::Loop* loop) {
  return llvm::SCEVExprContains(index, [&](const llvm::SCEV* part) {
    const auto* cast = llvm::dyn_cast<llvm::SCEVCastExpr>(part);
    if (!cast || llvm::isa<llvm::SCEVPtrToIntExpr>(cast)) return false;
    return llvm::SCEVExprContains(cast->getOperand(), [&](const llvm::SCEV* inner) {
      const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(inner);
      return recurrence && loop->contains(recurrence->getLoop());
    });
  });
}

const llvm::Value* address_of(const llvm::Instruction& i) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return load->getPointerOperand();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) return store->getPointerOperand();
  return nullptr;
}

bool has_wrapping_index(const llvm::Loop* loop, llvm::ScalarEvolution& evolution) {
  for (const llvm::BasicBlock* block : loop->blocks())
    for (const llvm::Instruction& i : *block)
      if (const llvm::Value* address = address_of(i))
        if (wraps_in(evolution.getSCEV(const_cast<llvm::Value*>(address)), loop)) return true;
  return false;
}

// The loop's other properties stay.
void forbid_vectorising(llvm::Loop* loop) {
  llvm::LLVMContext& context = loop->getHeader()->getContext();
  llvm::SmallVector<llvm::Metadata*, 4> items{nullptr};
  if (const llvm::MDNode* id = loop->getLoopID())
    for (const llvm::MDOperand& item : llvm::drop_begin(id->operands())) {
      const auto* node = llvm::dyn_cast<llvm::MDNode>(item);
      const auto* name =
          node && node->getNumOperands() > 0 ? llvm::dyn_cast<llvm::MDString>(node->getOperand(0)) : nullptr;
      if (!name || name->getString() != kVectorize) items.push_back(item);
    }
  items.push_back(llvm::MDNode::get(context, {llvm::MDString::get(context, kVectorize),
                                              llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context))}));
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, items);
  id->replaceOperandWith(0, id);
  loop->setLoopID(id);
}

}  // namespace

llvm::PreservedAnalyses KeepWrappingLoopsScalar::run(llvm::Function& f, llvm::FunctionAnalysisManager& analyses) {
  auto& loops = analyses.getResult<llvm::LoopAnalysis>(f);
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(f);
  for (llvm::Loop* loop : loops.getLoopsInPreorder())
    if (has_wrapping_index(loop, evolution)) {
      forbid_vectorising(loop);
      f.addFnAttr(kHasWrapping);
    }
  return llvm::PreservedAnalyses::all();
}

bool relies_on_wrapping(llvm::StringRef pass, const llvm::Any& unit) {
  const auto* const* f = llvm::any_cast<const llvm::Function*>(&unit);
  if (!f || !(*f)->hasFnAttribute(kHasWrapping)) return false;
  return pass == "LoopLoadEliminationPass" || pass == "LoopDistributePass" || pass == "LoopVersioningLICMPass";
}

}  // namespace rldb::codegen
