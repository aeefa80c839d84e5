// The cancel flag, its timers, and the exception that `poll` throws.
#include "rldb/support/cancel.h"

#include <sys/time.h>

#include <csignal>

#include "rldb/support/check.h"
#include "support/deadline_state.h"

namespace rldb::support {

namespace detail {

std::atomic<bool> g_cancel_flag{false};
std::size_t g_cancel_word = 0;

void throw_cancelled() { throw Cancelled(cancel_cause()); }

}  // namespace detail

namespace {

std::atomic<CancelCause> g_cause{CancelCause::None};
bool g_deadline = false;
volatile std::sig_atomic_t g_expired = 0;
void (*g_give_up)() = nullptr;

void on_alarm(int) {
  if (g_expired && g_give_up) g_give_up();
  g_expired = 1;
  request_cancel(CancelCause::Timeout);
}

void set_timer(double first, double then) {
  const auto time = [](double seconds) {
    timeval t{};
    t.tv_sec = time_t(seconds);
    t.tv_usec = suseconds_t((seconds - double(t.tv_sec)) * 1e6);
    return t;
  };
  const itimerval timer{time(then), time(first)};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

bool deadline_has_passed() { return g_deadline && g_expired != 0; }

const char* Cancelled::what() const noexcept {
  switch (cause_) {
    case CancelCause::None:
    case CancelCause::Interrupt:
      return "interrupted";
    case CancelCause::Timeout:
      return "out of time";
    case CancelCause::Memory:
      return "out of memory";
  }
  return "cancelled";
}

void request_cancel(CancelCause cause) {
  auto none = CancelCause::None;
  g_cause.compare_exchange_strong(none, cause);
  __atomic_store_n(&detail::g_cancel_word, std::size_t(1), __ATOMIC_RELAXED);
  detail::g_cancel_flag.store(true);
}

CancelCause cancel_cause() { return g_cause.load(); }

void acknowledge_cancel() {
  detail::g_cancel_flag.store(false);
  __atomic_store_n(&detail::g_cancel_word, std::size_t(0), __ATOMIC_RELAXED);
}

void poll_cause() {
  if (cancel_cause() != CancelCause::None) detail::throw_cancelled();
}

void clear_cancel() {
  acknowledge_cancel();
  g_cause.store(CancelCause::None);
}

Deadline::Deadline(double seconds, double grace, void (*give_up)()) {
  if (seconds <= 0 || g_deadline) return;
  armed_ = g_deadline = true;
  g_expired = 0;
  g_give_up = give_up;
  struct sigaction action {};
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  // The timer's resolution; and a day is as good as a longer time.
  const double first = seconds < 1e-6 ? 1e-6 : seconds > 1e8 ? 1e8 : seconds;
  set_timer(first, grace > 1e-6 ? grace : 1e-6);
}

Deadline::~Deadline() {
  if (!armed_) return;
  set_timer(0, 0);
  g_deadline = false;
  g_give_up = nullptr;
}

}  // namespace rldb::support
