// Writes cells to the terminal where they differ from those shown.
#include "rldb/ui/terminal/full_screen.h"

#include "rldb/support/memory.h"
#include "rldb/ui/terminal/styled_text.h"
#include "ui/terminal/terminal_output.h"

namespace rldb::ui {

namespace {

constexpr std::chrono::milliseconds kBetween{40};

}  // namespace

FullScreen::FullScreen(Screen& screen, std::function<void()> fill) : screen_(screen), fill_(std::move(fill)) {}

FullScreen::~FullScreen() { leave(); }

bool FullScreen::follow() {
  if (screen_.on == on()) return false;
  if (screen_.on) {
    enter();
    fill();
  } else {
    leave();
  }
  return true;
}

void FullScreen::enter() {
  if (on()) return;
  raw_.emplace(false);
  show_alternate_screen();
  lost_ = true;
}

void FullScreen::leave() {
  if (!on()) return;
  leave_alternate_screen();
  raw_.reset();
}

void FullScreen::fill() {
  if (fill_) fill_();
}

void FullScreen::put_frame(Frame frame, WindowSize size) {
  if (take_screen_lost() || lost_ || size.width != size_.width || size.height != size_.height) {
    write_terminal("\033[H\033[2J");
    display_.forget();
  }
  lost_ = false;
  size_ = size;
  drawn_ = std::chrono::steady_clock::now();
  write_terminal(display_.draw(std::move(frame), size.width, size.height, screen_.color()));
}

void FullScreen::draw(const Frame& entry, WindowSize size) {
  put_frame(screen_.compose(entry, size.width, size.height), size);
}

// The entry in its final form, above its output.
void FullScreen::accept(const Frame& entry) {
  Scrollback& output = screen_.output();
  output.end_line();
  for (const Row& row : entry.rows) {
    output.append(text_of(row));
    if (!row.wraps) output.append("\n");
  }
  output.end_line();
}

// The text written counts as memory, but an entry does not fail for it.
void FullScreen::write(std::string_view text, bool prose) {
  const support::MemoryLimitExempt exempt;
  screen_.output().append(text, prose);
  if (std::chrono::steady_clock::now() - drawn_ >= kBetween) draw_working({});
}

void FullScreen::draw_working(std::string_view progress) {
  const support::MemoryLimitExempt exempt;
  const WindowSize size = window_size();
  put_frame(screen_.working(progress, size.width, size.height), size);
}

void FullScreen::open_line() {
  draw_working({});
  raw_->leave();
}

void FullScreen::close_line(std::string_view answer) {
  raw_->enter();
  screen_.output().append(std::string(answer) + "\n");
  lost();
}

}  // namespace rldb::ui
