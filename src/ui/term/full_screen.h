// FullScreen: brings the cells of a Screen to the terminal, on its second screen, and gives the first one back. Also
// what is between a running entry and the terminal in screen mode: what it writes goes to the command line's
// output, and is seen from time to time.
//
// The terminal is raw for as long as it is on, so that nothing typed meanwhile is echoed into a pane. Users: the line
// editor while an entry is typed, ScreenConsole while one is worked on; one at a time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ui/screen/screen.h"
#include "ui/term/raw_mode.h"
#include "ui/term/redisplay.h"
#include "ui/term/window_size.h"

namespace rldb::ui {

class FullScreen {
 public:
  // `fill` has the panes made anew, from whatever the program is stopped at.
  FullScreen(Screen& screen, std::function<void()> fill);
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  Screen& screen() { return screen_; }
  bool on() const { return raw_.has_value(); }
  // As the screen's `on` says. True: it has changed.
  bool follow();
  // The terminal as it was, for somebody else or for good.
  void leave();
  void enter();
  // Something else was drawn: the next time all of it is drawn.
  void lost() { lost_ = true; }

  // While an entry is typed.
  void fill();
  void draw(const Frame& entry, WindowSize size);
  void accept(const Frame& entry);

  // While one is worked on, between `begin_work` and `end_work`. Written text is drawn at once where nothing was for a
  // while.
  void begin_work() {
    screen_.keep_lines();
    stops_.emplace();
  }
  void end_work() { stops_.reset(); }
  void write(std::string_view text);
  void draw_working(std::string_view progress);
  // The cursor behind what was written, the terminal as it was: for a question. Enter comes back.
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
