// Pages of output, their keys, and the search.
#include "ui/terminal/pager.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "rldb/support/cancel.h"
#include "rldb/ui/terminal/characters.h"
#include "rldb/ui/terminal/raw_mode.h"
#include "rldb/ui/terminal/typed_ahead.h"
#include "rldb/ui/terminal/window_size.h"
#include "ui/terminal/terminal_output.h"
#include "ui/terminal/word_wrap.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kClearLine = "\r\033[K";
constexpr std::size_t kMostHeld = std::size_t(16) << 20;  // bytes of output that a search keeps
constexpr int kLook = 100;                                // milliseconds between checks for ^C
constexpr int kKeyTime = 50;                              // and until the bytes of a key have arrived

bool waits(int milliseconds) {
  ::pollfd keys{STDIN_FILENO, POLLIN, 0};
  return ::poll(&keys, 1, milliseconds) > 0;
}

// The bytes of a key: a character, or an escape sequence. nullopt: ^C, or the end of the input. Keys behind a ^C are
// the next entry's.
std::optional<std::string> read_key() {
  do {
    if (support::cancel_flag()) return std::nullopt;
  } while (!waits(kLook));
  std::string key;
  do {
    char c = 0;
    if (::read(STDIN_FILENO, &c, 1) != 1) return std::nullopt;
    if (InterruptAsKey::is(c)) {
      support::request_cancel(support::CancelCause::Interrupt);
      return std::nullopt;
    }
    key += c;
    const bool sequence = key[0] == '\033';
    const bool whole = key.size() > 2 && c >= '@' && c <= '~';
    if (!sequence || whole) break;
  } while (waits(kKeyTime));
  return key;
}

// Without letter case where the text sought has no capital letters, as editors do.
bool contains(std::string_view line, std::string_view sought) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (std::any_of(sought.begin(), sought.end(), is_upper)) return line.find(sought) != std::string_view::npos;
  const auto equal = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(line.begin(), line.end(), sought.begin(), sought.end(), equal) != line.end();
}

std::string without_colours(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t n = line[i] == '\033' ? escape_length(line.substr(i)) : 1;
    if (line[i] != '\033') text += line[i];
    i += n;
  }
  return text;
}

}  // namespace

int Pager::page() { return std::max(1, window_size().height - 1); }

void Pager::begin(bool on) {
  on_ = on;
  dropped_ = searching_ = false;
  held_.clear();
  notice_.clear();
  rows_left_ = page();
  column_ = 0;
}

void Pager::write(std::string_view text) {
  if (dropped_) return;
  if (searching_) return hold(text);
  const int width = std::max(1, window_size().width);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (rows_left_ <= 0) {
      to_.write(text.substr(begin, i - begin));
      begin = i;
      switch (ask()) {
        case Answer::None:
          break;
        case Answer::Page:
          rows_left_ = page();
          break;
        case Answer::HalfPage:
          rows_left_ = std::max(1, page() / 2);
          break;
        case Answer::Line:
          rows_left_ = 1;
          break;
        case Answer::Rest:
          on_ = false;
          return to_.write(text.substr(begin));
        case Answer::Stop:
          dropped_ = true;
          return;
        case Answer::Find:
          searching_ = true;
          looked_at_ = 0;
          return hold(text.substr(begin));
      }
    }
    if (text[i] == '\n') {
      --rows_left_;
      column_ = 0;
      ++i;
    } else if (text[i] == '\033') {
      i += escape_length(text.substr(i));
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

void Pager::end() {
  while (searching_ && !dropped_) {
    searching_ = false;
    notice_ = fmt::format("`{}`: not found", sought_);
    rows_left_ = 0;
    const std::string rest = std::exchange(held_, {});
    write(rest);
  }
  on_ = dropped_ = searching_ = false;
  held_.clear();
}

// ---- the search ----

// The first line that has the text; of the last one, which may go on, only once it has ended.
void Pager::hold(std::string_view text) {
  held_ += text;
  while (true) {
    const std::size_t end = held_.find('\n', looked_at_);
    if (end == std::string::npos) break;
    if (contains(without_colours(std::string_view(held_).substr(looked_at_, end - looked_at_)), sought_)) {
      const std::string rest = held_.substr(looked_at_);
      const bool skipped = looked_at_ > 0;
      searching_ = false;
      held_.clear();
      if (skipped) to_.write("...\n");
      column_ = 0;
      rows_left_ = page() - (skipped ? 1 : 0);
      return write(rest);
    }
    looked_at_ = end + 1;
  }
  if (held_.size() <= kMostHeld) return;
  held_.erase(0, looked_at_);
  looked_at_ = 0;
}

// Reads what to search for; an empty text is the one before. False: there is none.
bool Pager::read_sought() {
  std::string typed;
  while (true) {
    write_terminal(fmt::format("{}/{}", kClearLine, first_columns(typed, std::max(1, window_size().width - 2))));
    const auto key = read_key();
    if (!key) return false;
    const char first = (*key)[0];
    if (first == '\r' || first == '\n') break;
    if (first == '\033' || first == '\x07' || ((first == '\x7F' || first == '\b') && typed.empty())) return false;
    if (first == '\x7F' || first == '\b')
      typed.resize(previous_character(typed, typed.size()));
    else if (first == '\x15')
      typed.clear();
    else if (static_cast<unsigned char>(first) >= ' ')
      typed += *key;
  }
  if (!typed.empty()) sought_ = typed;
  return !sought_.empty();
}

// ---- the keys ----

Pager::Answer Pager::answer_of(const std::string& key) {
  struct Row {
    std::string_view key;
    Answer answer;
  };
  static constexpr Row kRows[] = {
      {" ", Answer::Page},       {"f", Answer::Page},       {"\x06", Answer::Page}, {"\x16", Answer::Page},
      {"\033[6~", Answer::Page}, {"d", Answer::HalfPage},   {"\r", Answer::Line},   {"\n", Answer::Line},
      {"j", Answer::Line},       {"e", Answer::Line},       {"\x0E", Answer::Line}, {"\033[B", Answer::Line},
      {"\033OB", Answer::Line},  {"g", Answer::Rest},       {"G", Answer::Rest},    {"\033[F", Answer::Rest},
      {"\033OF", Answer::Rest},  {"\033[4~", Answer::Rest}, {"q", Answer::Stop},    {"Q", Answer::Stop},
      {"\x04", Answer::Stop},    {"/", Answer::Find},       {"n", Answer::Find},    {":", Answer::Stop},
  };
  for (const Row& row : kRows)
    if (row.key == key) return row.answer;
  return Answer::None;
}

// The first time the cursor may be behind a full row, which stays.
void Pager::show_question(bool again) {
  constexpr std::string_view kWhole = "-- more: Space: page, Enter: line, /: search, g: all, q: quit --";
  constexpr std::string_view kShort = "-- more: Space, Enter, /, g: all, q: quit --";
  const std::size_t width = std::size_t(std::max(1, window_size().width - 1));
  const std::string before = notice_.empty() ? "" : notice_ + " ";
  const std::string question = before + std::string(before.size() + kWhole.size() <= width ? kWhole : kShort);
  const std::string shown = first_columns(question, static_cast<int>(width));
  if (again) write_terminal(kClearLine);
  write_terminal(to_.color() ? fmt::format("\033[7m{}\033[0m", shown) : shown);
}

// Keys typed before the page was full are for the next entry: a user who types on has not asked to read page by page.
Pager::Answer Pager::ask() {
  const RawMode raw(false);
  const InterruptAsKey in_order;
  if (waits(0) || !typed_ahead().empty()) return Answer::Rest;
  Answer answer = Answer::None;
  for (bool again = false; answer == Answer::None; again = true) {
    show_question(again);
    const auto key = read_key();
    if (!key) {
      answer = Answer::Stop;
      break;
    }
    notice_.clear();
    answer = answer_of(*key);
    if (*key == ":") typed_ahead() += *key;
    if (answer == Answer::None) write_terminal("\a");
    const bool same = *key == "n";
    if (answer == Answer::Find && (same ? sought_.empty() : !read_sought())) {
      if (same) notice_ = "/ searches for a text, n for its next line:";
      answer = support::cancel_flag() ? Answer::Stop : Answer::None;
    }
  }
  write_terminal(kClearLine);
  return answer;
}

}  // namespace rldb::ui
