// A kernel in a guard process: forked for the call, so that arguments and code are there as they are here.
#include <fmt/format.h>

#include "runtime/guard_process.h"

namespace rldb::runtime {

namespace {

class IsolatedKernel : public Kernel {
 public:
  IsolatedKernel(std::shared_ptr<Kernel> inner, std::shared_ptr<const Isolation> isolation)
      : inner_(std::move(inner)), isolation_(std::move(isolation)) {}

  const KernelSignature& signature() const override { return inner_->signature(); }
  void prepare() override { inner_->prepare(); }

  Result<support::Unit> run(PackedArgs args, std::span<const std::int64_t> variables) override {
    if (!isolation_->enabled()) return inner_->run(args, variables);
    inner_->prepare();  // or every fork would compile it again
    const SharedRanges ranges(args);
    RLDB_TRY(const auto memory, SharedMemory::create());
    RLDB_TRY(std::byte* const shared, memory->map(ranges.bytes()));
    const auto body = [&](Channel& channel) {
      OutputRelay relay(channel, *isolation_);
      auto result = inner_->run(args, variables);
      if (!result.ok()) return send_error(channel, result.error());
      ranges.copy_to(shared);
      channel.send(Word::Done, {});
    };
    RLDB_TRY(auto guard, GuardProcess::start(body));
    RLDB_TRY(const std::string answer, await_answer(guard, *isolation_, fmt::format("kernel `{}`", signature().name)));
    ranges.copy_from(shared);
    return support::Unit{};
  }

 private:
  std::shared_ptr<Kernel> inner_;
  std::shared_ptr<const Isolation> isolation_;
};

}  // namespace

std::shared_ptr<Kernel> isolated_kernel(std::shared_ptr<Kernel> inner, std::shared_ptr<const Isolation> isolation) {
  return std::make_shared<IsolatedKernel>(std::move(inner), std::move(isolation));
}

}  // namespace rldb::runtime
