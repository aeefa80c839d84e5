// Pages and progress.
#include "rldb/ui/terminal/screen_console.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>

#include "rldb/support/cancel.h"
#include "rldb/support/progress.h"
#include "rldb/ui/terminal/characters.h"
#include "rldb/ui/terminal/full_screen.h"
#include "rldb/ui/terminal/raw_mode.h"
#include "rldb/ui/terminal/typed_ahead.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/terminal/terminal_output.h"

namespace rldb::ui {

namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::chrono::milliseconds kWakeEvery{250};
constexpr WindowSize kLeastPaged{20, 6};  // the smallest terminal on which pages make sense
constexpr std::string_view kClear = "\r\033[K";

std::optional<std::string> read_terminal_line() {
  std::string answer;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return answer;
    answer += c;
  }
  return std::nullopt;
}

// Bytes of the escape sequence at the start of the text; 1 if there is none.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\033' || text[1] != '[') return 1;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

}  // namespace

bool is_screen() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) && ::isatty(STDIN_FILENO) && term && *term && std::string_view(term) != "dumb";
}

ScreenConsole::ScreenConsole(Console& to) : to_(to) {
  set_color(to.color());
  if (!is_screen()) return;
  sigset_t all, before;  // signals are for the thread that reads keys
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ScreenConsole::~ScreenConsole() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_all();
  watcher_.join();
}

void ScreenConsole::begin(std::string_view entry, bool paged) {
  if (!watcher_.joinable()) return;
  const std::lock_guard lock(mutex_);
  const WindowSize size = window_size();
  paged_ = paged && !full_on() && size.height >= kLeastPaged.height && size.width >= kLeastPaged.width;
  if (full_on()) full_->begin_work();
  dropped_ = false;
  rows_left_ = std::max(1, window_size().height - 1);
  column_ = 0;
  active_ = true;
  constexpr std::size_t kMost = 40;
  what_ = std::string(entry.substr(0, std::min(entry.find('\n'), kMost)));
  since_ = std::chrono::steady_clock::now();
  wake_.notify_all();
}

void ScreenConsole::end() {
  const std::lock_guard lock(mutex_);
  clear_progress();
  if (full_) full_->end_work();
  active_ = paged_ = dropped_ = false;
}

bool ScreenConsole::full_on() const { return full_ && full_->on(); }

void ScreenConsole::put(std::string_view text, bool error) {
  if (full_on()) return full_->write(text);
  if (error)
    to_.error(text);
  else
    to_.write(text);
}

void ScreenConsole::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_progress();
  since_ = std::chrono::steady_clock::now();
  if (!paged_) {
    if (!text.empty()) column_ = text.back() == '\n' ? 0 : 1;
    return put(text, false);
  }
  if (!dropped_) count_and_write(text);
}

// Errors are always shown: a reader who quits the output still wants to know.
void ScreenConsole::error(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_progress();
  put(text, true);
  rows_left_ -= int(std::count(text.begin(), text.end(), '\n'));
}

void ScreenConsole::doing(std::string_view what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void ScreenConsole::pause() {
  const std::lock_guard lock(mutex_);
  clear_progress();
  if (paused_++ == 0 && full_on()) full_->leave();
}

void ScreenConsole::resume() {
  const std::lock_guard lock(mutex_);
  since_ = std::chrono::steady_clock::now();
  if (--paused_ > 0 || !full_ || !full_->screen().on || full_->on()) return;
  to_.write("-- Enter: back to the screen --");
  (void)read_terminal_line();
  full_->enter();
}

std::optional<std::string> ScreenConsole::read_line(std::string_view question) {
  const bool full = full_on();
  {
    const std::lock_guard lock(mutex_);
    clear_progress();
    ++paused_;
    put(question, true);
    if (full) full_->open_line();
  }
  const auto answer = read_terminal_line();
  const std::lock_guard lock(mutex_);
  if (full) full_->close_line(answer.value_or(""));
  --paused_;
  since_ = std::chrono::steady_clock::now();
  return answer;
}

// Writes up to the end of the screen, waits, and continues.
void ScreenConsole::count_and_write(std::string_view text) {
  const int width = std::max(1, window_size().width);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (rows_left_ <= 0) {
      to_.write(text.substr(begin, i - begin));
      begin = i;
      switch (wait_for_key()) {
        case Answer::Page:
          rows_left_ = std::max(1, window_size().height - 1);
          break;
        case Answer::Line:
          rows_left_ = 1;
          break;
        case Answer::Rest:
          paged_ = false;
          return to_.write(text.substr(begin));
        case Answer::Stop:
          dropped_ = true;
          return;
      }
    }
    if (text[i] == '\n') {
      --rows_left_;
      column_ = 0;
      ++i;
    } else if (text[i] == '\033') {
      i += sequence_length(text.substr(i));
    } else {
      const std::size_t next = next_character(text, i);
      const int columns = shown_character(text.substr(i, next - i)).columns;
      if (column_ > 0 && column_ + columns > width) {  // starts a row, possibly the next page's
        --rows_left_;
        column_ = 0;
        continue;
      }
      column_ += columns;
      i = next;
    }
  }
  to_.write(text.substr(begin));
}

// Keys typed before the page was full belong to the next entry, and so does a key without a meaning here: a user who
// types on has not asked to read page by page.
ScreenConsole::Answer ScreenConsole::wait_for_key() {
  {
    const RawMode raw(false);
    ::pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, 1, 0) > 0) return Answer::Rest;
  }
  constexpr std::string_view kMore = "-- more: Space: page, Enter: line, g: all, q: quit --";
  const std::string_view shown = kMore.substr(0, std::size_t(std::max(1, window_size().width - 1)));
  to_.write(color() ? fmt::format("\033[7m{}\033[0m", shown) : std::string(shown));
  Answer answer = Answer::Stop;
  {
    const RawMode raw(false);
    while (!support::cancel_flag()) {
      ::pollfd keys{STDIN_FILENO, POLLIN, 0};
      constexpr int kLook = 100;  // milliseconds between checks for ^C
      if (::poll(&keys, 1, kLook) <= 0) continue;
      char c = 0;
      if (::read(STDIN_FILENO, &c, 1) != 1) break;
      if (c == 'q' || c == 'Q' || c == '\x04' || c == '\x03') break;
      if (c == ' ' || c == 'f') answer = Answer::Page;
      if (c == '\r' || c == '\n' || c == 'j') answer = Answer::Line;
      if (c == 'g' || c == 'G') answer = Answer::Rest;
      if (answer == Answer::Stop) {
        typed_ahead() += c;
        answer = Answer::Rest;
      }
      if (answer != Answer::Stop) break;
    }
  }
  to_.write(kClear);
  since_ = std::chrono::steady_clock::now();
  return answer;
}

// Call with the lock held.
void ScreenConsole::clear_progress() {
  if (!shown_) return;
  // A terminal that has since become narrower has wrapped the line.
  const int rows = (std::max(1, shown_columns_) - 1) / std::max(1, window_size().width);
  if (!full_on()) write_terminal(rows > 0 ? fmt::format("\033[{}A\r\033[J", rows) : std::string(kClear));
  shown_ = false;
}

// `rest` is shown in full, `what` as far as there is room; a ^C that the terminal echoes after them stays on the row.
void ScreenConsole::show_progress(const std::string& what, const std::string& rest) {
  constexpr int kEcho = 3;
  clear_progress();
  shown_ = true;
  const int width = std::max(1, window_size().width - kEcho);
  const std::string shown =
      first_columns(first_columns(what, std::max(0, width - columns_of(rest))) + rest, std::max(1, width));
  if (full_on()) return full_->draw_working(shown);
  shown_columns_ = columns_of(shown);
  write_terminal(shown);
}

void ScreenConsole::watch() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    if (!active_) {
      wake_.wait(lock, [&] { return active_ || leaving_; });
      continue;
    }
    wake_.wait_for(lock, kWakeEvery);
    const auto quiet = std::chrono::steady_clock::now() - since_;
    if (!active_ || leaving_ || paused_ > 0 || dropped_) continue;
    if (full_on() && quiet < kPatience) {
      full_->draw_working({});
      continue;
    }
    // In the middle of a line of program output there is no place for it.
    if ((column_ != 0 && !full_on()) || quiet < kPatience) continue;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(quiet).count();
    const std::string now = support::doing_now();
    show_progress(fmt::format("{}{}{}", what_, now.empty() ? "" : ": ", now),
                  fmt::format(" ... {} s, ^C interrupts", seconds));
  }
  clear_progress();
}

}  // namespace rldb::ui
