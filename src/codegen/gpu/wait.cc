#include "codegen/gpu/wait.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace rldb::codegen {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using support::Unit;

namespace {

using Clock = std::chrono::steady_clock;

// False: `give_up` said so.
template <class F>
Result<bool> poll(GpuDevice& device, F give_up) {
  for (int polls = 0;; ++polls) {
    RLDB_TRY(const bool ended, device.has_ended());
    if (ended) return true;
    if (give_up()) return false;
    if (polls < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(polls < 1000 ? 50 : 1000));
  }
}

}  // namespace

Result<Unit> wait_for_launch(GpuDevice& device, const GpuOptions& options, std::string_view kernel) {
  RLDB_TRY(const bool ended, poll(device, [&] { return options.interrupt && *options.interrupt; }));
  if (ended) return Unit{};
  device.ask_to_stop(true);
  const auto latest = Clock::now() + options.patience;
  const auto stopped = poll(device, [&] { return Clock::now() >= latest; });
  if (!stopped.ok()) {
    device.ask_to_stop(false);  // else the next kernel would end at once
    return support::Failure(stopped.error());
  }
  if (*stopped) {
    device.ask_to_stop(false);
    return fail(ErrorKind::Interrupted, fmt::format("interrupted in kernel `{}`", kernel));
  }
  device.abandoned = true;
  return fail(ErrorKind::Interrupted,
              fmt::format("interrupted in kernel `{}`, which the device goes on computing", kernel));
}

Result<Unit> wait_for_abandoned(GpuDevice& device, std::atomic<bool>* interrupt, std::string_view before) {
  if (!device.abandoned) return Unit{};
  const auto ended = poll(device, [&] { return interrupt && *interrupt; });
  if (ended.ok() && !*ended)
    return fail(
        ErrorKind::Interrupted,
        fmt::format("interrupted before {}: the device still computes the kernel that was interrupted", before));
  device.abandoned = false;  // its own errors concern nobody any more
  device.ask_to_stop(false);
  return Unit{};
}

}  // namespace rldb::codegen
