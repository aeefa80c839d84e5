// FullScreen: brings the cells of a Screen to the terminal, on its alternate screen, and restores the normal one. In
// screen mode it also sits between a running entry and the terminal: output goes to the command line's pane, and is
// displayed from time to time.
//
// The terminal is raw for as long as it is on, so that nothing typed meanwhile is echoed into a pane. Users: the line
// editor while an entry is typed, ScreenConsole while one is executed; one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rldb/ui/terminal/raw_mode.h"
#include "rldb/ui/terminal/redisplay.h"
#include "rldb/ui/terminal/screen.h"
#include "rldb/ui/terminal/window_size.h"

namespace rldb::ui {

class FullScreen {
 public:
  // `fill` refills the panes from the program's current stop.
  FullScreen(Screen& screen, std::function<void()> fill);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  Screen& screen() { return screen_; }
  bool on() const { return raw_.has_value(); }
  // Follows the screen's `on`. True: it has changed.
  bool follow();
  // Restores the terminal, for another program or for good.
  void leave();
  void enter();
  // Something else was drawn: the next frame is drawn completely.
  void lost() { lost_ = true; }

  // While an entry is typed.
  void fill();
  void draw(const Frame& entry, WindowSize size);
  void accept(const Frame& entry);

  // While one is executed, between `begin_work` and `end_work`. Output is drawn at once if nothing was written for a
  // while.
  void begin_work() {
    screen_.keep_lines();
    stops_.emplace();
  }
  void end_work() { stops_.reset(); }
  void write(std::string_view text, bool prose = false);
  void draw_working(std::string_view progress);
  // The cursor after the output, with the terminal restored: for a question. Enter comes back.
  void open_line();
  void close_line(std::string_view answer);

 private:
  void put_frame(Frame frame, WindowSize size);

  Screen& screen_;
  std::function<void()> fill_;
  Redisplay display_;
  std::optional<RawMode> raw_;
  std::optional<StopsInWork> stops_;
  WindowSize size_;
  bool lost_ = true;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace rldb::ui
