#include "ui/batch/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "rldb/support/text.h"
#include "rldb/ui/terminal/characters.h"
#include "rldb/ui/terminal/window_size.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kBar = 20;  // cells
constexpr auto kBetween = std::chrono::milliseconds(100);
constexpr std::string_view kClear = "\r\033[K";

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return terminal_columns(STDERR_FILENO) && term && *term && std::string_view(term) != "dumb";
}

}  // namespace

std::string progress_line(std::optional<double> done, const std::string& text, int columns) {
  constexpr int kFrame = 3;  // brackets and a blank
  const std::string shown = first_columns(text, columns);
  if (!done || int(kBar) + kFrame + columns_of(text) > columns) return shown;
  const auto full = std::size_t(std::clamp(*done, 0.0, 1.0) * double(kBar));
  return fmt::format("[{}{}] {}", std::string(full, '#'), std::string(kBar - full, '.'), shown);
}

Progress::Progress(Console& console) : console_(console), on_(is_terminal()) {}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void Progress::show(std::optional<double> done, const std::string& text) {
  const auto now = Clock::now();
  if (!on_ || (shown_ && now - *shown_ < kBetween)) return;
  shown_ = now;
  visible_ = true;
  // The last column stays free: some terminals wrap when it is written to.
  const int columns = terminal_columns(STDERR_FILENO).value_or(1) - 1;
  console_.print_error("{}{}", kClear, progress_line(done, fmt::format("{}, {:.0f} s", text, seconds()), columns));
}

void Progress::clear() {
  if (visible_) console_.error(kClear);
  visible_ = false;
}

std::function<void(std::size_t, std::size_t)> tell_findings(Progress& progress, Console& console, double seconds,
                                                            std::size_t programs) {
  return
      [&progress, &console, seconds, programs, told = std::size_t(0)](std::size_t done, std::size_t findings) mutable {
        const double by_time = seconds > 0 ? progress.seconds() / seconds : 0;
        const double by_count = programs > 0 ? double(done) / double(programs) : 0;
        const std::string found = support::counted(findings, "finding");
        progress.show(std::max(by_time, by_count), fmt::format("{} programs, {}", done, found));
        if (findings != told && !progress.on_terminal()) console.print_error("{} in {} programs\n", found, done);
        told = findings;
      };
}

}  // namespace rldb::ui
