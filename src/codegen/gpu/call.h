// One call of a kernel: the host's part of a program. Room-private.
//
// Tensors that are not on the device are copied there, and the statements around the launches are executed. Results
// stay on the device, unless foreign code has the tensor's address. If a thread had a fault, the program is
// executed again up to that launch, on the same arguments, and the thread with the least number says what it was: the
// same report in every run.
#pragma once

#include <map>

#include "codegen/gpu/residence.h"
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
  ~GpuCall();
  GpuCall(const GpuCall&) = delete;
  GpuCall& operator=(const GpuCall&) = delete;
  runtime::Result<support::Unit> run(runtime::PackedArgs args);
  bool noted() const { return noted_; }  // one of the numbers that were looked for was written

 private:
  using Unit = support::Unit;
  // A range of a storage, shared by all arguments that are there.
  struct Shared {
    runtime::Ref<runtime::Storage> storage;
    std::size_t at = 0, bytes = 0;
    bool read = false, written = false;
    // Its copy that stays on the device; null: somebody has the address of the host's memory.
    support::Ref<ResidentCopy> resident;
    bool is_new = false;   // nobody has used the storage before
    bool on_host = false;  // the host has the bytes, too
    std::unique_ptr<GpuPart> part;
    std::unique_ptr<GpuMemory> own;       // for this call only
    std::unique_ptr<GpuMemory> original;  // what a fault brings back
    GpuAddress address = 0;
  };

  runtime::Result<Unit> bind(runtime::PackedArgs args);
  runtime::Result<Unit> bind_tensor(const ir::PrimParam& p, std::size_t index, const runtime::Tensor& t);
  void reside(Shared& shared);
  runtime::Result<Unit> copy_in();
  runtime::Result<Unit> copy_in(Shared& shared);
  runtime::Result<Unit> place(Shared& shared);
  runtime::Result<Unit> own_copy(Shared& shared);
  runtime::Result<Unit> copy_out();
  runtime::Result<Unit> keep_originals();
  runtime::Result<Unit> restore();
  runtime::Result<Unit> restore(Shared& shared);
  runtime::Result<Unit> start_again();
  void note_written(const Launch& made);
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
  std::vector<const std::byte*> order_;  // their addresses, as the parameters come: copies do not depend on addresses
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
