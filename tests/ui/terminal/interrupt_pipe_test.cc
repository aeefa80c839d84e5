// ^C that comes before the wait for it is not lost.
#include "rldb/ui/terminal/interrupt_pipe.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "rldb/support/cancel.h"

using rldb::ui::InterruptPipe;

TEST_CASE("interrupt pipe: a signal before the wait ends it, and cancels work at hand") {
  struct sigaction usual {
  }, own{};  // doctest takes signals for crashes
  usual.sa_handler = SIG_DFL;
  REQUIRE(::sigaction(SIGINT, &usual, &own) == 0);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    const InterruptPipe interrupt;
    REQUIRE(::write(ends[1], "x", 1) == 1);
    CHECK(interrupt.wait_for(ends[0]));
    ::raise(SIGINT);
    rldb::support::clear_cancel();  // as work that begins now does
    CHECK_FALSE(interrupt.wait_for(ends[0]));
    CHECK(interrupt.arrived());
  }
  {
    const InterruptPipe again;
    CHECK_FALSE(again.arrived());
    ::raise(SIGINT);
    CHECK(rldb::support::cancel_cause() == rldb::support::CancelCause::Interrupt);
  }
  rldb::support::clear_cancel();
  ::close(ends[0]);
  ::close(ends[1]);
  ::sigaction(SIGINT, &own, nullptr);
}
