// The pipe that the handler of ^C writes to.
#include "rldb/ui/terminal/interrupt_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "rldb/support/cancel.h"

namespace rldb::ui {

namespace {

volatile std::sig_atomic_t g_pipe_end = -1;  // of the pipe, where it is written
volatile std::sig_atomic_t g_interrupt_came = 0;
void (*g_handler_before)(int) = nullptr;

void tell_pipe(int signal) {
  const int kept = errno;
  g_interrupt_came = 1;
  if (g_pipe_end >= 0) (void)!::write(g_pipe_end, "", 1);
  if (g_handler_before)
    g_handler_before(signal);
  else
    support::request_cancel(support::CancelCause::Interrupt);
  errno = kept;
}

}  // namespace

InterruptPipe::InterruptPipe() {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) ends_[0] = ends_[1] = -1;
  g_pipe_end = ends_[1];
  g_interrupt_came = 0;
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &before_);
  const bool is_function = before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN;
  g_handler_before = is_function && !(before_.sa_flags & SA_SIGINFO) ? before_.sa_handler : nullptr;
  now.sa_handler = tell_pipe;
  ::sigaction(SIGINT, &now, nullptr);
}

InterruptPipe::~InterruptPipe() {
  ::sigaction(SIGINT, &before_, nullptr);
  g_pipe_end = -1;
  for (const int end : ends_)
    if (end >= 0) ::close(end);
}

bool InterruptPipe::arrived() const { return g_interrupt_came != 0; }

bool InterruptPipe::wait_for(int descriptor) const {
  while (!arrived()) {
    pollfd inputs[] = {{descriptor, POLLIN, 0}, {ends_[0], POLLIN, 0}};
    const int ready = ::poll(inputs, 2, -1);
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0 && !arrived() && inputs[0].revents != 0) return true;
  }
  return false;
}

}  // namespace rldb::ui
