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
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

class FullScreen;
class Pager;

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
  void prose(std::string_view text) override;
  int columns() const override;
  bool lost() const override { return to_.lost(); }
  void doing(std::string_view what) override;
  // While something else uses the terminal (a question, a shell command) nothing is shown.
  void pause() override;
  void resume() override;
  void without_pages() override;

 private:
  void watch();
  void clear_progress();
  void show_progress(const std::string& what, const std::string& rest);
  bool full_on() const;
  void put(std::string_view text, bool error);

  Console& to_;
  FullScreen* full_ = nullptr;
  std::mutex mutex_;
  std::unique_ptr<Pager> pager_;
  int column_ = 0;
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
