// The functions around the code of one thread: a body as on the CPU, which returns at the first fault, and the kernel
// function that is launched, which calls the body and writes the fault down (codegen/gpu: FaultRecord).
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>

#include "codegen/llvm/lower/lowering.h"
#include "rldb/eval/coverage.h"
#include "rldb/schedule/schedule.h"

namespace rldb::codegen {

namespace {

constexpr unsigned kGlobal = 1;  // the number of the address space
constexpr std::size_t kFaultWords = sizeof(runtime::KernelFault) / sizeof(std::int64_t);

}  // namespace

Lowered Lowering::run_on_device(const ir::PrimFunc* f, const runtime::KernelSignature& signature,
                                const DeviceEntry& entry) {
  facts_ = *entry.facts;
  unwritten_ = eval::allocations_left_unwritten(f);
  make_device_body(f, signature);
  prepare_notes(f);
  stmt(f->body);
  finish();
  make_device_entry(signature, entry);
  std::string problem;
  llvm::raw_string_ostream out(problem);
  if (llvm::verifyModule(*module_, &out)) refuse("the generated code is not valid: " + problem);
  return {std::move(module_), std::move(faults_), shared_bytes_, private_bytes_};
}

// Its parameters: those of the signature and its variables, the fault, and the word that asks to stop.
void Lowering::make_device_body(const ir::PrimFunc* f, const runtime::KernelSignature& signature) {
  noalias_ = schedule::is_noalias(f);
  std::vector<llvm::Type*> types;
  for (const auto& p : signature.params) {
    if (p.opaque) refuse(fmt::format("the parameter `{}` is a bare pointer", p.name));
    if (p.is_tensor)
      types.push_back(b_.getPtrTy());
    else
      types.push_back(p.dtype.is_float() ? b_.getDoubleTy() : b_.getInt64Ty());
  }
  for (std::size_t i = 0; i < signature.variables.size(); ++i) types.push_back(b_.getInt64Ty());
  types.push_back(b_.getPtrTy());
  types.push_back(b_.getPtrTy());
  body_ = llvm::Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), types, false),
                                 llvm::GlobalValue::InternalLinkage, "body", *module_);
  body_->addFnAttr(llvm::Attribute::AlwaysInline);
  body_->setDoesNotThrow();
  for (std::size_t i = 0; i < signature.params.size(); ++i) {
    llvm::Argument* a = body_->getArg(unsigned(i));
    a->setName(signature.params[i].name);
    if (signature.params[i].is_tensor && noalias_) a->addAttr(llvm::Attribute::NoAlias);
  }
  fault_ = body_->getArg(unsigned(types.size() - 2));
  stop_ = body_->getArg(unsigned(types.size() - 1));
  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", body_));
  bind_parameters(f, signature);
}

// The number of the thread in the launch.
Lowering::Value* Lowering::thread_number(const DeviceEntry& entry) {
  Value* number = b_.getInt32(0);
  for (const std::string_view tag : entry.axes) {
    const bool thread = tag.starts_with("threadIdx");
    Value* at = special_register(thread ? "tid" : "ctaid", tag.back());
    Value* extent = special_register(thread ? "ntid" : "nctaid", tag.back());
    number = b_.CreateAdd(b_.CreateMul(number, extent), at);
  }
  return number;
}

// Scalars arrive in their own types, memory as pointers to the device's global memory.
void Lowering::make_device_entry(const runtime::KernelSignature& signature, const DeviceEntry& entry) {
  llvm::Type* global = llvm::PointerType::get(c_, kGlobal);
  std::vector<llvm::Type*> types;
  for (const auto& p : signature.params) {
    if (p.is_tensor)
      types.push_back(global);
    else if (p.dtype.is_float())
      types.push_back(p.dtype.bits == 64 ? b_.getDoubleTy() : b_.getFloatTy());
    else
      types.push_back(b_.getIntNTy(p.dtype.is_bool() ? 8 : p.dtype.bits));
  }
  types.insert(types.end(), {global, b_.getInt32Ty(), global});
  entry_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                  llvm::GlobalValue::ExternalLinkage, llvm::StringRef(entry.name), *module_);
  entry_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  entry_->setDoesNotThrow();
  b_.SetInsertPoint(llvm::BasicBlock::Create(c_, "entry", entry_));
  Value* fault = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), kFaultWords), nullptr, "fault");
  b_.CreateMemSet(fault, b_.getInt8(0), kFaultWords * sizeof(std::int64_t), llvm::Align(8));
  std::vector<Value*> args, variables(signature.variables.size(), i64(0));
  for (std::size_t i = 0; i < signature.params.size(); ++i) {
    const auto& p = signature.params[i];
    Value* given = entry_->getArg(unsigned(i));
    given->setName(p.name);
    if (p.is_tensor) {
      args.push_back(b_.CreateAddrSpaceCast(given, b_.getPtrTy()));
    } else if (p.dtype.is_float()) {
      args.push_back(b_.CreateFPExt(given, b_.getDoubleTy()));
    } else {
      args.push_back(b_.CreateIntCast(given, b_.getInt64Ty(), p.dtype.is_int()));
      if (p.variable >= 0) variables[std::size_t(p.variable)] = args.back();
    }
  }
  args.insert(args.end(), variables.begin(), variables.end());
  const auto first = unsigned(signature.params.size());
  Value *record = entry_->getArg(first), *only = entry_->getArg(first + 1), *stop = entry_->getArg(first + 2);
  record->setName("record"), only->setName("only"), stop->setName("stop");
  args.push_back(fault);
  args.push_back(b_.CreateAddrSpaceCast(stop, b_.getPtrTy()));
  Value* failed = b_.CreateICmpNE(b_.CreateCall(body_, args), b_.getInt32(0));
  if (options_.events) {
    constexpr std::size_t kNoted = offsetof(runtime::KernelFault, noted) / sizeof(std::int64_t);
    Value* noted = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), fault, kNoted));
    llvm::BasicBlock* note = llvm::BasicBlock::Create(c_, "note", entry_);
    llvm::BasicBlock* go = llvm::BasicBlock::Create(c_, "noted", entry_);
    b_.CreateCondBr(b_.CreateICmpNE(noted, i64(0)), note, go);
    b_.SetInsertPoint(note);
    b_.CreateStore(b_.getInt32(1), b_.CreateConstInBoundsGEP1_64(b_.getInt32Ty(), record, 2));
    b_.CreateBr(go);
    b_.SetInsertPoint(go);
  }
  report_fault(failed, record, fault, only, thread_number(entry), entry.first_site);
}

// Either the least number of a thread that has a fault is found out, or the thread that is asked for tells what it was.
void Lowering::report_fault(Value* failed, Value* record, Value* fault, Value* only, Value* me,
                            std::size_t first_site) {
  const auto block = [&](const char* name) { return llvm::BasicBlock::Create(c_, name, entry_); };
  Block *report = block("report"), *least = block("least"), *asked = block("asked"), *tell = block("tell"),
        *end = block("end");
  llvm::Type *word = b_.getInt64Ty(), *half = b_.getInt32Ty();
  b_.CreateCondBr(failed, report, end);
  b_.SetInsertPoint(report);
  b_.CreateCondBr(b_.CreateICmpEQ(only, b_.getInt32(~0u)), least, asked);
  b_.SetInsertPoint(least);
  b_.CreateAtomicRMW(llvm::AtomicRMWInst::UMin, record, me, llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(end);
  b_.SetInsertPoint(asked);
  b_.CreateCondBr(b_.CreateICmpEQ(only, me), tell, end);
  b_.SetInsertPoint(tell);
  Value* code = b_.CreateTrunc(b_.CreateLoad(word, fault), half);
  b_.CreateStore(b_.CreateAdd(code, b_.getInt32(unsigned(first_site))), b_.CreateConstInBoundsGEP1_64(half, record, 1));
  for (std::size_t i = 0; i < kFaultValues; ++i) {
    Value* number = b_.CreateLoad(word, b_.CreateConstInBoundsGEP1_64(word, fault, 1 + i));
    b_.CreateStore(number, b_.CreateConstInBoundsGEP1_64(word, record, 2 + i));
  }
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
  b_.CreateRetVoid();
}

}  // namespace rldb::codegen
