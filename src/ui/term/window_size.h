// The size of the terminal that standard output goes to; 80 by 24 where that is none.
#pragma once

#include <optional>

namespace rldb::ui {

struct WindowSize {
  int width = 80;
  int height = 24;
};
WindowSize window_size();
// Of the terminal that a descriptor is open on; none: it is open on something else.
std::optional<int> terminal_columns(int fd);

}  // namespace rldb::ui
