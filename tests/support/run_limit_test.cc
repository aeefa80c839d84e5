// RunLimit: ends a run, and the work around it goes on.
#include "rldb/support/run_limit.h"

#include <doctest/doctest.h>

#include <chrono>

#include "rldb/support/cancel.h"

using namespace rldb;

namespace {

// False: it was cancelled.
bool works_for(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  try {
    while (std::chrono::steady_clock::now() < end) support::poll();
  } catch (const support::Cancelled&) {
    return false;
  }
  return true;
}

}  // namespace

TEST_CASE("run limit: a run that ends in time, one that does not, and one without a limit") {
  {
    support::RunLimit limit(60);
    CHECK(works_for(0.01));
    CHECK_FALSE(limit.end());
  }
  {
    support::RunLimit limit(0.02);
    CHECK_FALSE(works_for(60));
    CHECK(limit.end());
    CHECK_FALSE(limit.end());
  }
  CHECK(works_for(0.01));
  support::RunLimit none(0);
  CHECK(works_for(0.01));
  CHECK_FALSE(none.end());
}

TEST_CASE("run limit: a deadline around it is not taken for it") {
  const support::Deadline deadline(0.02);
  support::RunLimit limit(60);
  CHECK_FALSE(works_for(60));
  CHECK_FALSE(limit.end());
  CHECK(support::cancel_cause() == support::CancelCause::Timeout);
  support::clear_cancel();
}
