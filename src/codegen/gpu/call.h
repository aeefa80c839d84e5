// One call of a kernel: the host's part of a program. Room-private.
//
// Tensors are copied to the device, the statements around the launches are executed, and what was written is copied
// back if all went well. If a thread had a fault, the program is executed again up to that launch, on the same
// arguments, and the thread with the least number says what it was: the same report in every run.
#pragma once

#include <map>

#include "codegen/gpu/memory.h"
#include "rldb/codegen/gpu/options.h"
#include "rldb/codegen/gpu/program.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// Why the device cannot run blocks of so many threads; empty: it can.
std::string block_is_too_large(const GpuDevice& device, const Launch& launch, std::uint64_t threads);

class GpuCall {
 public:
  GpuCall(GpuDevice& device, const Program& program, const GpuCode& code, const runtime::KernelSignature& signature,
          const GpuOptions& options)
      : device_(device), program_(program), code_(code), signature_(signature), options_(options) {}
  runtime::Result<support::Unit> run(runtime::PackedArgs args);
  bool noted() const { return noted_; }  // one of the numbers that were looked for was written

 private:
  using Unit = support::Unit;
  // A range of a storage, shared by all arguments that are there.
  struct Shared {
    std::unique_ptr<GpuMemory> memory;
    std::byte* host = nullptr;
    std::size_t bytes = 0;
    bool read = false, written = false;
  };

  runtime::Result<Unit> bind(runtime::PackedArgs args);
  runtime::Result<Unit> bind_tensor(const ir::PrimParam& p, std::size_t index, const runtime::Tensor& t);
  runtime::Result<Unit> copy_in();
  runtime::Result<Unit> copy_out();
  runtime::Result<Unit> execute();
  runtime::Result<Unit> host(const ir::Stmt* s);
  runtime::Result<Unit> loop(const ir::ForStmt* s);
  runtime::Result<Unit> allocate(const ir::Stmt* s);
  runtime::Result<Unit> launch(std::size_t number);
  runtime::Result<std::vector<GpuArgument>> arguments_of(const Launch& made);
  runtime::Result<Unit> look_at_faults(std::size_t number);
  runtime::Error fault(const Launch& launch, std::uint32_t thread) const;
  runtime::Result<std::int64_t> number(const ir::Expr* e) const;
  runtime::Result<runtime::Value> scalar(const ir::Expr* e) const;

  GpuDevice& device_;
  const Program& program_;
  const GpuCode& code_;
  const runtime::KernelSignature& signature_;
  const GpuOptions& options_;
  std::map<const std::byte*, Shared> tensors_;
  std::unordered_map<const ir::Var*, const std::byte*> arguments_;  // pointer -> its tensor
  std::unordered_map<const ir::Var*, std::unique_ptr<GpuMemory>> temporaries_;
  std::unordered_map<const ir::Var*, std::size_t> bytes_;
  std::unordered_map<const ir::Var*, runtime::Value> scalars_;
  std::unique_ptr<GpuMemory> faults_;
  bool noted_ = false;

  // The second execution: which launch, counted from the start, and which of its threads.
  std::size_t launched_ = 0;
  std::size_t failed_launch_ = 0;
  std::uint32_t failed_thread_ = 0xFFFFFFFF;
};

}  // namespace rldb::codegen
