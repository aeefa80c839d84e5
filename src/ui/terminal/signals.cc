// Signal handlers of an interactive session, and the waits at the prompt that check their flags.
#include "rldb/ui/terminal/signals.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "rldb/support/cancel.h"
#include "rldb/ui/terminal/raw_mode.h"

namespace rldb::ui {

namespace {

constexpr int kSessionSignals[] = {SIGTERM, SIGHUP, SIGQUIT};
constexpr int kPromptSignals[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT};

volatile std::sig_atomic_t g_ended_by = 0;
volatile std::sig_atomic_t g_interrupted = 0;
volatile std::sig_atomic_t g_suspended = 0;
volatile std::sig_atomic_t g_resized = 0;
volatile std::sig_atomic_t g_continued = 0;

void on_end(int signal) {
  if (g_ended_by) {  // second request: the work does not return
    restore_terminal();
    std::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  g_ended_by = signal;
  support::request_cancel(support::CancelCause::Interrupt);
}
void on_quit_in_work(int) { support::request_cancel(support::CancelCause::Interrupt); }
void on_interrupt(int) { g_interrupted = 1; }
void on_quit(int) {}
// The later of the two counts: each cancels the other.
void on_suspend(int) {
  g_suspended = 1;
  g_continued = 0;
}
void on_resize(int) { g_resized = 1; }
void on_continue(int) {
  g_continued = 1;
  g_suspended = 0;
}

void install(int signal, void (*handler)(int), int flags, struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, &before);
}

}  // namespace

SessionSignals::SessionSignals() {
  g_ended_by = 0;
  for (std::size_t i = 0; i < 3; ++i)
    install(kSessionSignals[i], kSessionSignals[i] == SIGQUIT ? on_quit_in_work : on_end, SA_RESTART, before_[i]);
}

SessionSignals::~SessionSignals() {
  for (std::size_t i = 0; i < 3; ++i) ::sigaction(kSessionSignals[i], &before_[i], nullptr);
}

int SessionSignals::ended_by() { return g_ended_by; }

PromptSignals::PromptSignals() {
  g_interrupted = 0;
  g_suspended = 0;
  g_resized = 0;
  g_continued = 0;
  sigset_t block;
  sigemptyset(&block);
  for (const int signal : kPromptSignals) sigaddset(&block, signal);
  sigaddset(&block, SIGTERM);
  sigaddset(&block, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &block, &mask_);
  void (*const handlers[])(int) = {on_interrupt, on_quit, on_suspend, on_resize, on_continue};
  for (std::size_t i = 0; i < 5; ++i) install(kPromptSignals[i], handlers[i], 0, before_[i]);
}

PromptSignals::~PromptSignals() {
  for (std::size_t i = 0; i < 5; ++i) ::sigaction(kPromptSignals[i], &before_[i], nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

bool PromptSignals::arrived() const {
  sigset_t blocked;
  ::sigprocmask(SIG_SETMASK, &mask_, &blocked);  // pending ones are delivered here
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  return g_ended_by || g_interrupted || g_suspended || g_resized || g_continued;
}

PromptEvent PromptSignals::wait(int timeout_ms, int other) {
  const timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1'000'000L};
  while (!arrived()) {
    struct pollfd inputs[] = {{STDIN_FILENO, POLLIN, 0}, {other, POLLIN, 0}};
    const pollfd& input = inputs[0];
    const int ready = ::ppoll(inputs, other < 0 ? 1 : 2, timeout_ms < 0 ? nullptr : &timeout, &mask_);
    if (ready < 0 && errno != EINTR) return PromptEvent::End;
    // Where there is input, ppoll does not deliver signals; ^C is older than the remaining input.
    if (ready == 0 && !arrived()) return PromptEvent::Pause;
    if (ready <= 0 || arrived()) continue;
    if (input.revents == 0) return PromptEvent::Other;
    // After a hang-up there is nobody to answer, even if input remains.
    return input.revents & (POLLHUP | POLLERR | POLLNVAL) ? PromptEvent::End : PromptEvent::Input;
  }
  if (g_ended_by) return PromptEvent::End;
  if (g_interrupted) {
    g_interrupted = 0;
    return PromptEvent::Interrupt;
  }
  if (g_suspended) {
    g_suspended = 0;
    return PromptEvent::Suspend;
  }
  if (g_continued) {
    g_continued = 0;
    return PromptEvent::Continue;
  }
  g_resized = 0;
  return PromptEvent::Resize;
}

void PromptSignals::stop() {
  stop_process(SIGTSTP);
  (void)arrived();  // the signal that continued it
  g_continued = 0;
}

}  // namespace rldb::ui
