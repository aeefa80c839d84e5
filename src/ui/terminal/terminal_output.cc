// The non-blocking descriptor, and the waits for room.
#include "ui/terminal/terminal_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace rldb::ui {

namespace {

constexpr int kRetryMs = 20;  // between attempts, where nothing signals that there is room again

// Standard output where it cannot be opened again (a terminal of another user).
int descriptor() {
  static std::atomic<int> known{-1};
  int fd = known.load();
  if (fd >= 0) return fd;
  fd = ::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  int none = -1;
  if (!known.compare_exchange_strong(none, fd >= 0 ? fd : STDOUT_FILENO) && fd >= 0) ::close(fd);
  return known.load();
}

}  // namespace

void write_terminal(std::string_view bytes) {
  const int fd = descriptor();
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) {
      bytes.remove_prefix(std::size_t(n));
    } else if (n < 0 && errno == EAGAIN) {
      struct pollfd room {
        fd, POLLOUT, 0
      };
      ::poll(&room, 1, kRetryMs);
    } else if (n == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace rldb::ui
