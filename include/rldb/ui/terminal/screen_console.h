// ScreenConsole: output of an entry on an interactive terminal. After each screenful it waits for a key, and when
// nothing has been written for a second it shows what is being done.
//
// In screen mode output goes to the command line's pane, without pages.
//
// All of this applies to entries that are typed: `begin` and `end` surround one. Otherwise, and where the output is not
// a terminal, everything passes through. Users: the prompt's loop.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

class FullScreen;

// Is this an interactive terminal whose cursor can be moved?
bool is_screen();

class ScreenConsole : public Console {
 public:
  explicit ScreenConsole(Console& to);
  ~ScreenConsole() override;

  // Null: screen mode has ended.
  void set_full_screen(FullScreen* full) { full_ = full; }
  // A line from the terminal; nullopt: its end, or ^C.
  std::optional<std::string> read_line(std::string_view question);

  void begin(std::string_view entry, bool paged);
  void end();

  void write(std::string_view text) override;
  void error(std::string_view text) override;
  bool lost() const override { return to_.lost(); }
  void doing(std::string_view what) override;
  // While something else uses the terminal (a question, a shell command) nothing is shown.
  void pause() override;
  void resume() override;

 private:
  enum class Answer { Page, Line, Rest, Stop };
  void count_and_write(std::string_view text);
  Answer wait_for_key();
  void watch();
  void clear_progress();
  void show_progress(const std::string& what, const std::string& rest);
  bool full_on() const;
  void put(std::string_view text, bool error);

  Console& to_;
  FullScreen* full_ = nullptr;
  std::mutex mutex_;
  // pages
  bool paged_ = false;
  bool dropped_ = false;  // the rest of this entry's output is suppressed
  int rows_left_ = 0, column_ = 0;
  // progress
  bool active_ = false, shown_ = false, leaving_ = false;
  int paused_ = 0;
  int shown_columns_ = 0;  // of the line of progress
  std::string what_;
  std::chrono::steady_clock::time_point since_;
  std::condition_variable wake_;
  std::thread watcher_;
};

}  // namespace rldb::ui
