#include "rldb/support/cancel.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "rldb/support/arena.h"

namespace rldb::support {

namespace {

struct Clean {
  Clean() { clear_cancel(); }
  ~Clean() { clear_cancel(); }
};

CancelCause cause_of_poll() {
  try {
    poll();
  } catch (const Cancelled& stop) {
    return stop.cause();
  }
  return CancelCause::None;
}

}  // namespace

TEST_CASE("poll throws while cancellation is requested, and only then") {
  const Clean clean;
  CHECK(cause_of_poll() == CancelCause::None);
  request_cancel(CancelCause::Interrupt);
  CHECK(cause_of_poll() == CancelCause::Interrupt);
  CHECK(*cancel_word() == 1);
  clear_cancel();
  CHECK(cause_of_poll() == CancelCause::None);
  CHECK(*cancel_word() == 0);
}

TEST_CASE("the first cause stays") {
  const Clean clean;
  request_cancel(CancelCause::Timeout);
  request_cancel(CancelCause::Interrupt);
  CHECK(cancel_cause() == CancelCause::Timeout);
}

TEST_CASE("a deadline cancels what takes too long") {
  const Clean clean;
  CancelCause seen = CancelCause::None;
  {
    const Deadline deadline(0.01);
    for (int i = 0; i < 1000 && seen == CancelCause::None; ++i) {
      ::usleep(10'000);
      seen = cause_of_poll();
    }
  }
  CHECK(seen == CancelCause::Timeout);
}

TEST_CASE("a deadline that has ended cancels nothing") {
  const Clean clean;
  { const Deadline deadline(0.02); }
  ::usleep(60'000);
  CHECK(cause_of_poll() == CancelCause::None);
}

TEST_CASE("an arena that grows can be cancelled and goes on afterwards") {
  const Clean clean;
  Arena arena;
  auto* kept = arena.make<int>(7);
  request_cancel(CancelCause::Interrupt);
  CHECK_THROWS_AS(
      [&] {
        for (;;) arena.allocate(4096, 8);
      }(),
      Cancelled);
  clear_cancel();
  CHECK(arena.allocate(std::size_t(1) << 21, 8) != nullptr);
  CHECK(*kept == 7);
}

}  // namespace rldb::support
