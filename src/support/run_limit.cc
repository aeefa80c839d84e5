// RunLimit: a thread that waits for the end of the run.
#include "rldb/support/run_limit.h"

#include <chrono>

#include "rldb/support/cancel.h"
#include "support/deadline_state.h"

namespace rldb::support {

RunLimit::RunLimit(double seconds) {
  if (seconds <= 0) return;
  watch_ = std::thread([this, seconds] {
    std::unique_lock lock(mutex_);
    if (ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; })) return;
    has_passed_ = true;
    request_cancel(CancelCause::Timeout);
  });
}

RunLimit::~RunLimit() { end(); }

bool RunLimit::end() {
  if (!watch_.joinable()) return false;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  watch_.join();
  const bool is_ours = has_passed_ && !deadline_has_passed() && cancel_cause() == CancelCause::Timeout;
  if (is_ours) clear_cancel();
  return is_ours;
}

}  // namespace rldb::support
