// Pages and progress.
#include "rldb/ui/terminal/screen_console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "rldb/support/cancel.h"
#include "rldb/support/progress.h"
#include "rldb/ui/terminal/characters.h"
#include "rldb/ui/terminal/full_screen.h"
#include "rldb/ui/terminal/typed_ahead.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/terminal/pager.h"
#include "ui/terminal/terminal_output.h"
#include "ui/terminal/word_wrap.h"

namespace rldb::ui {

namespace {

constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::chrono::milliseconds kWakeEvery{250};
constexpr WindowSize kLeastPaged{20, 6};  // the smallest terminal on which pages make sense
constexpr std::string_view kClear = "\r\033[K";

// Keys that were typed before the question come first; they are shown, which the terminal did not do.
std::optional<std::string> read_terminal_line() {
  std::string& keys = typed_ahead();
  const std::size_t end = keys.find_first_of("\r\n");
  std::string answer = keys.substr(0, end);
  keys.erase(0, end == std::string::npos ? end : end + 1);
  write_terminal(end == std::string::npos ? answer : answer + "\n");
  if (end != std::string::npos) return answer;
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return answer;
    answer += c;
  }
  return std::nullopt;
}

}  // namespace

bool is_screen() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) && ::isatty(STDIN_FILENO) && term && *term && std::string_view(term) != "dumb";
}

ScreenConsole::ScreenConsole(Console& to) : to_(to), pager_(std::make_unique<Pager>(to)) {
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
  pager_->begin(paged && !full_on() && size.height >= kLeastPaged.height && size.width >= kLeastPaged.width);
  if (full_on()) full_->begin_work();
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
  pager_->end();
  if (full_) full_->end_work();
  active_ = false;
}

bool ScreenConsole::full_on() const { return full_ && full_->on(); }

void ScreenConsole::put(std::string_view text, bool error) {
  if (full_on()) return full_->write(text, error);
  if (error)
    to_.error(text);
  else
    to_.write(text);
}

void ScreenConsole::write(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_progress();
  since_ = std::chrono::steady_clock::now();
  if (!pager_->on()) {
    if (!text.empty()) column_ = text.back() == '\n' ? 0 : 1;
    return put(text, false);
  }
  pager_->write(text);
  column_ = pager_->column();
  since_ = std::chrono::steady_clock::now();
}

// Not where a line of output is still open: the program's.
void ScreenConsole::prose(std::string_view text) {
  {
    const std::lock_guard lock(mutex_);
    if (full_on()) {  // it wraps its output itself, for panes of any width
      since_ = std::chrono::steady_clock::now();
      return full_->write(text, true);
    }
  }
  write(columns() > 0 && column_ == 0 ? break_between_words(text, columns()) : std::string(text));
}

int ScreenConsole::columns() const { return watcher_.joinable() && !full_on() ? window_size().width : 0; }

// Errors are always shown: a reader who quits the output still wants to know.
void ScreenConsole::error(std::string_view sentences) {
  const std::lock_guard lock(mutex_);
  clear_progress();
  const std::string text = columns() > 0 ? break_between_words(sentences, columns()) : std::string(sentences);
  put(text, true);
  pager_->took_rows(int(std::count(text.begin(), text.end(), '\n')));
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

void ScreenConsole::without_pages() {
  const std::lock_guard lock(mutex_);
  pager_->turn_off();
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
    if (!active_ || leaving_ || paused_ > 0 || pager_->dropped()) continue;
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
