// A PrimFunc run by the evaluator, as a kernel of the table.
#include <fmt/format.h>

#include "eval/compiled/statements.h"
#include "rldb/eval/eval.h"

namespace rldb::eval {

namespace {

class EvalKernel : public runtime::Kernel {
 public:
  EvalKernel(const ir::PrimFunc* f, runtime::KernelSignature signature, const runtime::PackedRegistry* registry,
             std::atomic<bool>* interrupt, bool poisoned_memory)
      : f_(f),
        signature_(std::move(signature)),
        registry_(registry),
        interrupt_(interrupt),
        poisoned_memory_(poisoned_memory) {}

  const runtime::KernelSignature& signature() const override { return signature_; }

  runtime::Result<runtime::Value> run(runtime::PackedArgs args, std::span<const std::int64_t>) override {
    TirMachine machine(f_, registry_);
    if (poisoned_memory_) machine.set_poisoned_memory();
    machine.share(compiled_);
    RLDB_TRY_VOID(machine.start(args));
    auto ran = machine.run({.interrupt = interrupt_});
    if (!ran.ok()) {
      runtime::Error error = std::move(ran).error();
      error.notes.push_back(fmt::format("in kernel `{}`", signature_.name));
      return support::Failure(std::move(error));
    }
    if (*ran == TirMachine::Ran::Interrupted)
      return runtime::fail(runtime::ErrorKind::Interrupted, fmt::format("interrupted in kernel `{}`", signature_.name));
    return signature_.result.is_void() ? runtime::Value() : machine.result();
  }

 private:
  const ir::PrimFunc* f_;
  runtime::KernelSignature signature_;
  const runtime::PackedRegistry* registry_;
  std::atomic<bool>* interrupt_;
  bool poisoned_memory_;
  std::shared_ptr<CompiledStatements> compiled_ = std::make_shared<CompiledStatements>();
};

}  // namespace

std::shared_ptr<runtime::Kernel> make_eval_kernel(const ir::PrimFunc* f, runtime::KernelSignature signature,
                                                  const runtime::PackedRegistry* registry, std::atomic<bool>* interrupt,
                                                  bool poisoned_memory) {
  return std::make_shared<EvalKernel>(f, std::move(signature), registry, interrupt, poisoned_memory);
}

}  // namespace rldb::eval
