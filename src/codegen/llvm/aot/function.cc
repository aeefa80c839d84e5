// One function of the bytecode as code: its registers are an array on the stack, each instruction a call of the runtime
// or of another function. A failed call adds its place to the error, releases the registers and returns.
#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "codegen/llvm/aot/program.h"
#include "codegen/llvm/lower/lowering.h"
#include "rldb/bytecode/builtin/memory.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/runtime/ffi_abi.h"

namespace rldb::codegen {

namespace {

using bytecode::Arg;
using bytecode::ArgKind;
using bytecode::FunctionIndex;
using bytecode::Instruction;
using bytecode::Opcode;
using bytecode::Pc;
using bytecode::RegName;

constexpr std::int64_t kMostRegisters = 8192;  // they are on the stack, 16 bytes each
constexpr int kAnyBytes = 16;
// struct Frame of src/aot/runtime/aot.h: words.
constexpr int kFrameLibrary = 1, kFrameFunction = 2, kFramePc = 3, kFrameRegisters = 4, kFrameCount = 5;
constexpr int kFrameWords = 7;
constexpr std::uint32_t kGateIsClosed = 1U << 20;    // so often as it is open
constexpr int kFailedStatus = -1, kTailStatus = -2;  // of src/aot/runtime/aot.h

class FunctionCode {
 public:
  FunctionCode(ProgramModule& module, FunctionIndex index)
      : m_(module),
        b_(module.b),
        exe_(module.exe),
        index_(index),
        entry_(exe_.functions[std::size_t(index)]),
        f_(module.functions[std::size_t(index)]) {}

  void run() {
    if (entry_.register_file_size > kMostRegisters)
      refuse(fmt::format("`{}` has {} registers; a library's function has at most {}", entry_.name,
                         entry_.register_file_size, kMostRegisters));
    find_cleared();
    begin();
    for (Pc pc = entry_.start; pc < entry_.end; ++pc) {
      b_.SetInsertPoint(block(pc));
      at_line(pc);
      pass_gate(pc);
      instruction(pc);
    }
    b_.SetInsertPoint(failed_);
    end_frame(nothing());
    b_.CreateRet(b_.getInt32(std::uint32_t(kFailedStatus)));
  }

 private:
  using Value = llvm::Value;

  llvm::BasicBlock* block(Pc pc) { return blocks_[std::size_t(pc - entry_.start)]; }
  llvm::BasicBlock* new_block(const char* name) { return llvm::BasicBlock::Create(m_.c, name, f_); }

  void begin() {
    const bytecode::FunctionDebug* debug = exe_.debug.function(index_);
    const std::string_view path = debug ? exe_.debug.file(debug->location) : std::string_view();
    llvm::DIFile* file = m_.file(path.empty() ? "program" : path);
    line_ = debug ? debug->location.line : 0;
    subprogram_ = m_.debug.createFunction(file, entry_.name, "", file, line_,
                                          m_.debug.createSubroutineType(m_.debug.getOrCreateTypeArray({})), line_,
                                          llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition);
    f_->setSubprogram(subprogram_);
    b_.SetInsertPoint(new_block("entry"));
    b_.SetCurrentDebugLocation(llvm::DILocation::get(m_.c, line_, 0, subprogram_));
    count_ = std::max<std::int64_t>(1, entry_.register_file_size);
    std::size_t most = 1;
    for (Pc pc = entry_.start; pc < entry_.end; ++pc) most = std::max(most, exe_.instruction(pc).args.size());
    registers_ = b_.CreateAlloca(llvm::ArrayType::get(m_.any, std::uint64_t(count_)), nullptr, "registers");
    args_ = b_.CreateAlloca(llvm::ArrayType::get(m_.any, most), nullptr, "args");
    made_ = b_.CreateAlloca(m_.any, nullptr, "made");
    frame_ = b_.CreateAlloca(llvm::ArrayType::get(m_.i64, kFrameWords), nullptr, "frame");
    for (llvm::AllocaInst* a : {registers_, args_, made_, frame_}) a->setAlignment(llvm::Align(8));
    library_ = f_->getArg(0);
    b_.CreateStore(llvm::Constant::getNullValue(m_.any), made_);
    begin_frame();
    failed_ = new_block("failed");
    for (Pc pc = entry_.start; pc < entry_.end; ++pc) blocks_.push_back(new_block("at"));
    b_.CreateBr(block(entry_.start));
  }

  Value* in_frame(int word) { return b_.CreateConstInBoundsGEP1_64(m_.i64, frame_, std::uint64_t(word)); }

  void begin_frame() {
    b_.CreateStore(library_, in_frame(kFrameLibrary));
    b_.CreateStore(b_.getInt64(std::uint64_t(index_.value())), in_frame(kFrameFunction));
    b_.CreateStore(b_.getInt64(std::uint64_t(entry_.start.value())), in_frame(kFramePc));
    b_.CreateStore(registers_, in_frame(kFrameRegisters));
    b_.CreateStore(b_.getInt64(std::uint64_t(count_)), in_frame(kFrameCount));
    b_.CreateCall(m_.runtime("rldb_aot_start", b_.getVoidTy(), {m_.ptr, m_.ptr, m_.i32}),
                  {frame_, f_->getArg(1), f_->getArg(2)});
  }

  // Where the function is, for a debugger, which may wait there.
  void pass_gate(Pc pc) {
    b_.CreateStore(b_.getInt64(std::uint64_t(pc.value())), in_frame(kFramePc));
    Value* gate = b_.CreateLoad(m_.i64, m_.watched, /*isVolatile=*/true);
    llvm::BasicBlock* open = new_block("gate");
    llvm::BasicBlock* on = new_block("on");
    b_.CreateCondBr(b_.CreateICmpEQ(gate, b_.getInt64(0)), on, open,
                    llvm::MDBuilder(m_.c).createBranchWeights(kGateIsClosed, 1));
    b_.SetInsertPoint(open);
    b_.CreateCall(m_.runtime("rldb_aot_gate", b_.getVoidTy(), {}));
    b_.CreateBr(on);
    b_.SetInsertPoint(on);
  }

  Value* nothing() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  // Its registers are released.
  void end_frame(Value* result) {
    b_.CreateCall(m_.runtime("rldb_aot_end", b_.getVoidTy(), {m_.ptr, m_.ptr}), {frame_, result});
  }

  void at_line(Pc pc) {
    const bytecode::InstructionDebug* row = exe_.debug.instruction(pc);
    if (row && row->location.line > 0) line_ = row->location.line;
    b_.SetCurrentDebugLocation(llvm::DILocation::get(m_.c, line_, 0, subprogram_));
  }

  Value* place(Value* array, std::int64_t i) { return b_.CreateConstInBoundsGEP1_64(m_.any, array, std::uint64_t(i)); }
  Value* reg(RegName r) { return place(registers_, r.value()); }

  void instruction(Pc pc) {
    const Instruction i = exe_.instruction(pc);
    switch (i.op) {
      case Opcode::Call:
        return call(pc, i);
      case Opcode::Ret:
        if (!bytecode::is_special(i.reg)) set(f_->getArg(3), reg(i.reg));
        end_frame(f_->getArg(3));
        b_.CreateRet(b_.getInt32(0));
        return;
      case Opcode::Goto:
        b_.CreateBr(block(pc + i.offset));
        return;
      case Opcode::If: {
        Value* taken = b_.CreateCall(m_.runtime("rldb_aot_condition", m_.i32, {m_.ptr}), {operand_of(i.reg)});
        llvm::BasicBlock* good = new_block("condition");
        fail_unless(b_.CreateICmpSGE(taken, b_.getInt32(0)), good, pc);
        b_.CreateCondBr(b_.CreateICmpNE(taken, b_.getInt32(0)), block(pc + 1), block(pc + i.offset));
        return;
      }
    }
  }

  Value* operand_of(RegName r) {
    if (bytecode::is_special(r)) refuse(fmt::format("`{}` has a condition that is not a register", entry_.name));
    return reg(r);
  }

  void set(Value* to, Value* from) {
    b_.CreateCall(m_.runtime("rldb_aot_set", b_.getVoidTy(), {m_.ptr, m_.ptr}), {to, from});
  }

  void fail_unless(Value* good, llvm::BasicBlock* next, Pc pc) {
    llvm::BasicBlock* bad = new_block("bad");
    b_.CreateCondBr(good, next, bad);
    b_.SetInsertPoint(bad);
    b_.CreateCall(m_.runtime("rldb_aot_trace", b_.getVoidTy(), {m_.ptr, m_.i64, m_.i64}),
                  {library_, b_.getInt64(std::uint64_t(index_.value())), b_.getInt64(std::uint64_t(pc.value()))});
    b_.CreateBr(failed_);
    b_.SetInsertPoint(next);
  }

  void copy_argument(Value* to, Value* from) {
    b_.CreateMemCpy(to, llvm::MaybeAlign(8), from, llvm::MaybeAlign(8), kAnyBytes);
  }

  void store_any(Value* to, int type, std::int64_t payload) {
    b_.CreateStore(b_.getInt64(std::uint64_t(type)), to);  // and the padding
    b_.CreateStore(b_.getInt64(std::uint64_t(payload)), b_.CreateConstInBoundsGEP1_64(m_.i64, to, 1));
  }

  void argument(Value* to, Arg arg) {
    switch (arg.kind()) {
      case ArgKind::Register:
        if (bytecode::is_special(arg.reg())) return store_any(to, kTVMFFINone, 0);
        return copy_argument(to, reg(arg.reg()));
      case ArgKind::Immediate:
        return store_any(to, kTVMFFIInt, arg.value());
      case ArgKind::Constant:
      case ArgKind::Function: {
        const bool constant = arg.kind() == ArgKind::Constant;
        llvm::Function* find =
            m_.runtime(constant ? "rldb_aot_constant" : "rldb_aot_function_value", m_.ptr, {m_.ptr, m_.i64});
        return copy_argument(to, b_.CreateCall(find, {library_, b_.getInt64(std::uint64_t(arg.value()))}));
      }
    }
  }

  void call(Pc pc, const Instruction& i) {
    const AotTarget& target = m_.program.targets[std::size_t(i.callee)];
    const bool kept = !bytecode::is_special(i.dst);
    for (std::size_t a = 0; a < i.args.size(); ++a) argument(place(args_, std::int64_t(a)), i.arg(a));
    Value* count = b_.getInt32(std::uint32_t(i.args.size()));
    Value* callee = b_.getInt64(std::uint64_t(i.callee.value()));
    if (target.kind == AotTarget::Kind::Bytecode && kept && returns_register(pc + 1, i.dst)) tail_call(callee, count);
    Value* status = nullptr;
    const auto indexed = [&](std::string_view symbol, Value* index) {
      status = b_.CreateCall(m_.runtime(symbol, m_.i32, {m_.ptr, m_.i64, m_.ptr, m_.i32, m_.ptr}),
                             {library_, index, args_, count, made_});
    };
    switch (target.kind) {
      case AotTarget::Kind::Bytecode:
        indexed("rldb_aot_call", callee);
        break;
      case AotTarget::Kind::Kernel:
        indexed("rldb_aot_call_kernel", b_.getInt64(target.kernel));
        break;
      case AotTarget::Kind::External:
        indexed("rldb_aot_call_external", callee);
        break;
      case AotTarget::Kind::Builtin: {
        const bool clears = std::find(cleared_.begin(), cleared_.end(), pc) != cleared_.end();
        const std::string_view symbol = clears ? std::string_view("rldb_aot_AllocCleared") : target.symbol;
        status = b_.CreateCall(m_.call_like(symbol), {library_, args_, count, made_});
        break;
      }
    }
    fail_unless(b_.CreateICmpEQ(status, b_.getInt32(0)), new_block("done"), pc);
    if (kept)
      set(reg(i.dst), made_);
    else
      b_.CreateCall(m_.runtime("rldb_aot_release", b_.getVoidTy(), {m_.ptr}), {made_});
    b_.CreateBr(block(pc + 1));
  }

  // Deep calls in tail position give their frame to the callee (vm::Limits::tail_frames).
  void tail_call(Value* callee, Value* count) {
    llvm::BasicBlock* deep = new_block("deep");
    llvm::BasicBlock* shallow = new_block("shallow");
    Value* is_deep = b_.CreateCall(m_.runtime("rldb_aot_is_deep", m_.i32, {}), {});
    b_.CreateCondBr(b_.CreateICmpNE(is_deep, b_.getInt32(0)), deep, shallow);
    b_.SetInsertPoint(deep);
    Value* status =
        b_.CreateCall(m_.runtime("rldb_aot_tail", m_.i32, {m_.i64, m_.ptr, m_.i32}), {callee, args_, count});
    end_frame(nothing());
    b_.CreateRet(status);
    b_.SetInsertPoint(shallow);
  }

  std::string_view callee_name(const Instruction& i) const { return exe_.functions[std::size_t(i.callee)].name; }

  // vm/link.cc: from `pc` on the function only returns that register, after jumps, copies of it, and clearing of
  // others.
  bool returns_register(Pc pc, RegName r) const {
    while (pc < entry_.end) {
      const Instruction i = exe_.instruction(pc);
      if (i.op == Opcode::Ret) return i.reg == r;
      if (i.op == Opcode::Goto && i.offset > 0) {
        pc = pc + i.offset;
        continue;
      }
      if (i.op != Opcode::Call) return false;
      const bool copies = callee_name(i) == builtin::Copy && i.args.size() == 1 &&
                          i.arg(0).kind() == ArgKind::Register && i.arg(0).reg() == r;
      const bool clears = callee_name(i) == builtin::NullValue && i.dst != r;
      if (!copies && !clears) return false;
      if (copies) r = i.dst;
      ++pc;
    }
    return false;
  }

  // vm/link.cc: tensors for kernels that may leave elements unwritten, and for packed functions, are cleared when they
  // are allocated.
  void find_cleared() {
    std::map<std::int64_t, Pc> allocated;  // register: where its tensor was allocated
    for (Pc pc = entry_.start; pc < entry_.end; ++pc) {
      const Instruction i = exe_.instruction(pc);
      if (i.op != Opcode::Call) continue;
      const AotTarget& target = m_.program.targets[std::size_t(i.callee)];
      const bool kernel = target.kind == AotTarget::Kind::Kernel;
      for (std::size_t a = 0; a < i.args.size() && (kernel || target.kind == AotTarget::Kind::External); ++a) {
        if (i.arg(a).kind() != ArgKind::Register) continue;
        const auto it = allocated.find(i.arg(a).value());
        const auto leaves = [&] {
          const auto& params = m_.program.kernels[target.kernel].signature.params;
          return a < params.size() && params[a].may_leave_unwritten;
        };
        if (it != allocated.end() && (!kernel || leaves())) cleared_.push_back(it->second);
      }
      if (callee_name(i) == builtin::AllocTensor)
        allocated[i.dst.value()] = pc;
      else
        allocated.erase(i.dst.value());
    }
  }

  ProgramModule& m_;
  llvm::IRBuilder<>& b_;
  const bytecode::Executable& exe_;
  FunctionIndex index_;
  const bytecode::FunctionEntry& entry_;
  llvm::Function* f_;
  llvm::DISubprogram* subprogram_ = nullptr;
  unsigned line_ = 0;
  std::int64_t count_ = 0;
  llvm::AllocaInst *registers_ = nullptr, *args_ = nullptr, *made_ = nullptr, *frame_ = nullptr;
  Value* library_ = nullptr;
  llvm::BasicBlock* failed_ = nullptr;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<Pc> cleared_;  // allocations
};

}  // namespace

void write_function(ProgramModule& module, FunctionIndex index) { FunctionCode(module, index).run(); }

}  // namespace rldb::codegen
