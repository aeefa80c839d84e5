// A kernel in a guard process: forked for the call, so that arguments and code are at the same addresses there.
#include <fmt/format.h>

#include <bit>

#include "rldb/support/cancel.h"
#include "runtime/plugin/guard_process.h"
#include "runtime/plugin/wire.h"

namespace rldb::runtime {

namespace {

// A kernel returns a scalar or nothing.
std::string scalar_bytes(const Value& v) {
  WireWriter out;
  out.word(std::uint64_t(v.kind()));
  out.word(v.is(ValueKind::Float) ? std::bit_cast<std::uint64_t>(v.as_float()) : std::uint64_t(v.as_int()));
  return out.bytes();
}

Value scalar_of(std::string_view bytes) {
  WireReader in(bytes);
  const std::uint64_t kind = in.word(), bits = in.word();
  if (!in.done()) return {};
  if (kind == std::uint64_t(ValueKind::Int)) return Value::of_int(std::int64_t(bits));
  if (kind == std::uint64_t(ValueKind::Bool)) return Value::of_bool(bits != 0);
  if (kind == std::uint64_t(ValueKind::Float)) return Value::of_float(std::bit_cast<double>(bits));
  return {};
}

class IsolatedKernel : public Kernel {
 public:
  IsolatedKernel(std::shared_ptr<Kernel> inner, std::shared_ptr<const Isolation> isolation)
      : inner_(std::move(inner)), isolation_(std::move(isolation)) {}

  const KernelSignature& signature() const override { return inner_->signature(); }
  void prepare() override { inner_->prepare(); }

  Result<Value> run(PackedArgs args, std::span<const std::int64_t> variables) override {
    if (!isolation_->enabled()) return inner_->run(args, variables);
    try {
      inner_->prepare();  // or every fork would compile it again
    } catch (const support::Cancelled&) {
      // For a run, cancellation is a stop.
      return fail(ErrorKind::Interrupted, fmt::format("interrupted while kernel `{}` was compiled", signature().name));
    }
    const SharedRanges ranges(args);
    RLDB_TRY(const auto memory, SharedMemory::create());
    RLDB_TRY(std::byte* const shared, memory->map(ranges.bytes()));
    const auto body = [&](Channel& channel) {
      OutputRelay relay(channel, *isolation_);
      auto result = inner_->run(args, variables);
      if (!result.ok()) return send_error(channel, result.error());
      ranges.copy_to(shared);
      channel.send(Word::Done, scalar_bytes(*result));
    };
    RLDB_TRY(auto guard, GuardProcess::start(body));
    RLDB_TRY(const std::string answer, await_answer(guard, *isolation_, fmt::format("kernel `{}`", signature().name)));
    ranges.copy_from(shared);
    return scalar_of(answer);
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
