#include "rldb/ui/terminal/window_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace rldb::ui {

WindowSize window_size() {
  struct winsize size {};
  WindowSize known;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return known;
  if (size.ws_col > 0) known.width = size.ws_col;
  if (size.ws_row > 0) known.height = size.ws_row;
  return known;
}

std::optional<int> terminal_columns(int fd) {
  struct winsize size {};
  if (!::isatty(fd) || ::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace rldb::ui
