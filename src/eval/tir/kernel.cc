// A PrimFunc run by the evaluator, as a kernel of the table.
#include <fmt/format.h>

#include "rldb/eval/eval.h"

namespace rldb::eval {

namespace {

class EvalKernel : public runtime::Kernel {
 public:
  EvalKernel(const ir::PrimFunc* f, runtime::KernelSignature signature, const runtime::PackedRegistry* registry,
             std::atomic<bool>* interrupt)
      : f_(f), signature_(std::move(signature)), registry_(registry), interrupt_(interrupt) {}

  const runtime::KernelSignature& signature() const override { return signature_; }

  runtime::Result<runtime::Value> run(runtime::PackedArgs args, std::span<const std::int64_t>) override {
    TirMachine machine(f_, registry_);
    RLDB_TRY_VOID(machine.start(args));
    constexpr int kPollEvery = 1024;
    for (int left = kPollEvery; machine.running(); --left) {
      auto stepped = machine.step();
      if (!stepped.ok()) {
        runtime::Error error = std::move(stepped).error();
        error.notes.push_back(fmt::format("in kernel `{}`", signature_.name));
        return support::Failure(std::move(error));
      }
      if (left > 0) continue;
      left = kPollEvery;
      if (interrupt_ && *interrupt_)
        return runtime::fail(runtime::ErrorKind::Interrupted,
                             fmt::format("interrupted in kernel `{}`", signature_.name));
    }
    return signature_.result.is_void() ? runtime::Value() : machine.result();
  }

 private:
  const ir::PrimFunc* f_;
  runtime::KernelSignature signature_;
  const runtime::PackedRegistry* registry_;
  std::atomic<bool>* interrupt_;
};

}  // namespace

std::shared_ptr<runtime::Kernel> make_eval_kernel(const ir::PrimFunc* f, runtime::KernelSignature signature,
                                                  const runtime::PackedRegistry* registry,
                                                  std::atomic<bool>* interrupt) {
  return std::make_shared<EvalKernel>(f, std::move(signature), registry, interrupt);
}

}  // namespace rldb::eval
