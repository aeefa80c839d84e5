// Parallel loops with a grain (attribute ParallelGrain): the loop becomes a function of a range of its iterations,
// which a helper calls once or, in pieces, on several threads (engine/pieces.h). The code is the same for any number of
// threads, and so are the results. Allocations that only the loop uses are made by each piece.
//
// The function is emitted as if it were inside of the one around it; values that it uses from there become parameters.
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstIterator.h>

#include "codegen/llvm/engine/pieces.h"
#include "codegen/llvm/lower/chunk.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/schedule/written_first.h"

namespace rldb::codegen {

using ir::as;

namespace {

std::int64_t grain_of(const ir::ForStmt* loop) {
  if (loop->for_kind != ir::ForKind::Parallel || loop->step) return 0;
  const ir::Attr* a = ir::find_attr(loop->annotations, attr_name::ParallelGrain);
  if (!a) return 0;
  const auto* e = a->is(ir::AttrKind::Expr) ? as<ir::IntImm>(a->node) : nullptr;
  return e ? e->value : a->integer;
}

// Whether its body can be a function of its own: no jumps out of it, no calls that need the kernel's own thread.
bool stands_alone(const ir::ForStmt* loop) {
  bool alone = true;
  ir::walk(loop->body, [&](const ir::Node* n) {
    if (const auto* c = as<ir::Call>(n))
      for (const auto& other : {ir::intrin::Ret, ir::intrin::BreakLoop, ir::intrin::ContinueLoop,
                                ir::intrin::TvmCallPacked, ir::intrin::TvmCallCpacked})
        alone = alone && !ir::is_call_of(c, other);
    if (const auto* b = as<ir::SBlock>(n)) alone = alone && b->match_buffers.empty();
    return alone;
  });
  return alone;
}

// How often buffers are accessed, and which have their pointer used otherwise.
struct Uses {
  std::unordered_map<const ir::Buffer*, std::size_t> count;
  std::unordered_set<const ir::Var*> pointers;
  std::vector<const ir::Buffer*> allocated;

  explicit Uses(const ir::Stmt* s) {
    ir::walk(s, [&](const ir::Node* n) {
      if (const auto* l = as<ir::BufferLoad>(n)) ++count[l->buffer];
      if (const auto* st = as<ir::BufferStore>(n)) ++count[st->buffer];
      if (const auto* d = as<ir::DeclBuffer>(n)) pointers.insert(d->buffer->data);
      if (const auto* v = as<ir::Var>(n)) pointers.insert(v);
      if (const auto* b = as<ir::SBlock>(n)) {
        allocated.insert(allocated.end(), b->alloc_buffers.begin(), b->alloc_buffers.end());
        for (const ir::MatchBufferRegion& m : b->match_buffers) pointers.insert(m.source.buffer->data);
      }
      if (const auto* a = as<ir::AllocBuffer>(n)) allocated.push_back(a->buffer);
      return true;
    });
  }
};

}  // namespace

void Lowering::find_parallel_loops(const ir::PrimFunc* f) {
  if (!options_.threads) return;
  std::vector<const ir::ForStmt*> loops;  // outermost first
  ir::walk(f->body, [&](const ir::Node* n) {
    const auto* loop = as<ir::ForStmt>(n);
    if (loop && (loop->for_kind == ir::ForKind::Vectorized || loop->for_kind == ir::ForKind::Unrolled)) return false;
    if (loop && grain_of(loop) > 0 && stands_alone(loop)) loops.push_back(loop);
    return as<ir::Stmt>(n) != nullptr;
  });
  if (loops.empty()) return;
  const Uses all(f->body);
  for (std::size_t i = loops.size(); i-- > 0;) {
    const Uses inside(loops[i]->body);
    std::vector<const ir::Buffer*> own;
    bool fits = true;
    for (const ir::Buffer* b : all.allocated) {
      const auto here = inside.count.find(b);
      if (here == inside.count.end() || here->second != all.count.at(b) || all.pointers.contains(b->data)) continue;
      // One that is read before it is written keeps what earlier iterations left. Of others no element is read that was
      // not written, so that they need no zeros.
      if (unwritten_.contains(b) && schedule::writes_before_reads(loops[i], b)) unwritten_.erase(b);
      fits = fits && !unwritten_.contains(b);
      if (!private_.contains(b)) own.push_back(b);
    }
    // Memory that is allocated inside but used in another way.
    for (const ir::Buffer* b : inside.allocated) fits = fits && !all.pointers.contains(b->data);
    if (!fits) continue;
    private_.insert(own.begin(), own.end());
    parallel_[loops[i]] = std::move(own);
  }
}

// At the beginning of a piece. An allocation whose size is not known there is made at its block.
void Lowering::allocate_private(const ir::ForStmt* loop) {
  for (const ir::Buffer* b : parallel_.at(loop)) {
    private_.erase(b);
    hoisted_.erase(b);
    if (!size_is_known(b)) continue;
    allocate_buffer(b);
    hoisted_.insert(b);
  }
}

// The function of a range of iterations, which still uses values of the one around it.
llvm::Function* Lowering::part_of(const ir::ForStmt* loop) {
  llvm::Type* word = b_.getInt64Ty();
  auto* draft = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {word, word, b_.getPtrTy()}, false),
                                       llvm::GlobalValue::InternalLinkage, "part", *module_);
  const auto function = restore_later(body_, draft);
  const auto fault = restore_later(fault_, draft->getArg(2));
  const auto stack = restore_later(stack_bytes_, 0);
  const auto jumps = restore_later(loops_, {});
  const auto scope = restore_later(subprogram_, subprogram_);
  const llvm::DebugLoc line = b_.getCurrentDebugLocation();
  b_.SetInsertPoint(new_block("entry"));
  lines_of_function(draft, loop, draft->getName());
  allocate_private(loop);
  Value* begin = draft->getArg(0);
  if (non_negative(loop->min)) b_.CreateAssumption(b_.CreateICmpSGE(begin, i64(0)));
  emit_loop(
      begin, draft->getArg(1), i64(1), loop, [&](Value* iv) { run_body(loop, iv); }, chunk_of(loop));
  // Stores past the caches have arrived when the piece ends.
  if (stream_) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  b_.CreateRet(b_.getInt32(0));
  b_.SetCurrentDebugLocation(line);
  return draft;
}

// The same with those values as parameters, before its own.
llvm::Function* Lowering::with_captures(llvm::Function* draft, std::vector<Value*>& captures) {
  llvm::SetVector<Value*> used;
  for (llvm::Instruction& i : llvm::instructions(draft))
    for (Value* operand : i.operands()) {
      const auto* at = llvm::dyn_cast<llvm::Instruction>(operand);
      const auto* param = llvm::dyn_cast<llvm::Argument>(operand);
      if ((at && at->getFunction() != draft) || (param && param->getParent() != draft)) used.insert(operand);
    }
  captures.assign(used.begin(), used.end());
  std::vector<llvm::Type*> types;
  for (Value* v : captures) types.push_back(v->getType());
  for (llvm::Argument& a : draft->args()) types.push_back(a.getType());
  auto* part = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false),
                                      llvm::GlobalValue::InternalLinkage, "part", *module_);
  part->addFnAttr(llvm::Attribute::NoInline);
  part->setDoesNotThrow();
  part->splice(part->begin(), draft);
  part->setSubprogram(draft->getSubprogram());
  for (unsigned i = 0; i < draft->arg_size(); ++i)
    draft->getArg(i)->replaceAllUsesWith(part->getArg(unsigned(captures.size()) + i));
  draft->eraseFromParent();
  const auto is_apart = [](const Value* v) {
    const auto* param = llvm::dyn_cast<llvm::Argument>(v);
    const auto* call = llvm::dyn_cast<llvm::CallInst>(v);
    return (param && param->hasNoAliasAttr()) || llvm::isa<llvm::AllocaInst>(v) || (call && call->returnDoesNotAlias());
  };
  // A pointer into another's memory would make that one's promise false.
  const bool apart = std::all_of(captures.begin(), captures.end(),
                                 [&](const Value* v) { return !v->getType()->isPointerTy() || is_apart(v); });
  for (unsigned i = 0; i < captures.size(); ++i) {
    llvm::Argument* param = part->getArg(i);
    param->setName(captures[i]->getName());
    if (apart && param->getType()->isPointerTy()) param->addAttr(llvm::Attribute::NoAlias);
    captures[i]->replaceUsesWithIf(param, [&](llvm::Use& use) {
      const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
      return user && user->getFunction() == part;
    });
  }
  part->getArg(unsigned(part->arg_size() - 1))->addAttr(llvm::Attribute::NoAlias);
  return part;
}

// The form that the helper calls: captured values are in memory.
llvm::Function* Lowering::unpacking(llvm::Function* part, llvm::StructType* captures) {
  llvm::Type* word = b_.getInt64Ty();
  llvm::Type* ptr = b_.getPtrTy();
  auto* made = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {ptr, word, word, ptr}, false),
                                      llvm::GlobalValue::InternalLinkage, "range", *module_);
  made->setDoesNotThrow();
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", made));
  b_.SetCurrentDebugLocation({});
  std::vector<Value*> args;
  for (unsigned i = 0; i < captures->getNumElements(); ++i)
    args.push_back(b_.CreateLoad(captures->getElementType(i), b_.CreateStructGEP(captures, made->getArg(0), i)));
  for (unsigned i = 1; i < 4; ++i) args.push_back(made->getArg(i));
  b_.CreateRet(b_.CreateCall(part, args));
  return made;
}

bool Lowering::parallel_loop(const ir::ForStmt* loop) {
  if (!parallel_.contains(loop) || widened_ || mask_) return false;
  Value* begin = index(loop->min);
  Value* end = b_.CreateAdd(begin, index(loop->extent), "", false, true);
  Block* before = b_.GetInsertBlock();
  std::vector<Value*> values;
  llvm::Function* part = with_captures(part_of(loop), values);
  b_.SetInsertPoint(before);

  std::vector<llvm::Type*> types;
  for (Value* v : values) types.push_back(v->getType());
  llvm::StructType* captures = llvm::StructType::get(c_, types);
  llvm::Function* range = unpacking(part, captures);
  llvm::IRBuilder<> first(&body_->getEntryBlock(), body_->getEntryBlock().begin());
  Value* memory = first.CreateAlloca(captures, nullptr, "captures");
  for (unsigned i = 0; i < values.size(); ++i) b_.CreateStore(values[i], b_.CreateStructGEP(captures, memory, i));
  llvm::Type* word = b_.getInt64Ty();
  llvm::Type* ptr = b_.getPtrTy();
  Value* status = b_.CreateCall(helper(kPiecesHelper, b_.getInt32Ty(), {ptr, ptr, word, word, word, ptr}),
                                {range, memory, begin, end, i64(grain_of(loop)), fault_});
  Block* stop = new_block("stopped");
  Block* go = new_block("joined");
  b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), stop, go);
  b_.SetInsertPoint(stop);
  b_.CreateRet(status);
  b_.SetInsertPoint(go);
  as_written_ = true;
  return true;
}

}  // namespace rldb::codegen
