// Progress of work: on a terminal, one line on standard error that is overwritten; elsewhere nothing.
//
// The bar is dropped where the text leaves no room for it, and the text is cut off at the terminal's width, so that the
// line never wraps. Users: the batch commands that try many programs.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "rldb/ui/terminal/console.h"

namespace rldb::ui {

// At most `columns` wide. `done` is between 0 and 1; nullopt: unknown, there is no bar.
std::string progress_line(std::optional<double> done, const std::string& text, int columns);

class Progress {
 public:
  explicit Progress(Console& console);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool on_terminal() const { return on_; }
  // Shows the text, and the seconds since this was created; at most ten times a second.
  void show(std::optional<double> done, const std::string& text);
  // Call before anything else is written.
  void clear();
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> shown_;
  bool on_ = false;
  bool visible_ = false;
};

// For a search that looks at random programs until a time or a number is reached (0: no such limit): the programs and
// findings so far. On a terminal the line, elsewhere a line for each new finding.
std::function<void(std::size_t programs, std::size_t findings)> tell_findings(Progress& progress, Console& console,
                                                                              double seconds, std::size_t programs);

}  // namespace rldb::ui
