// The size of the terminal on standard output; 80 by 24 if it is not one.
#pragma once

#include <optional>

namespace rldb::ui {

struct WindowSize {
  int width = 80;
  int height = 24;
};
WindowSize window_size();
// The width of the terminal that a descriptor refers to; none: it is not a terminal.
std::optional<int> terminal_columns(int fd);

}  // namespace rldb::ui
