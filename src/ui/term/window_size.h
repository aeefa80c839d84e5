// The size of the terminal that standard output goes to; 80 by 24 where that is none.
#pragma once

namespace rldb::ui {

struct WindowSize {
  int width = 80;
  int height = 24;
};
WindowSize window_size();

}  // namespace rldb::ui
