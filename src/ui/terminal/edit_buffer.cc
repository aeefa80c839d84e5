// EditBuffer: replacements, undo in groups, movement by characters and words.
#include "ui/terminal/edit_buffer.h"

#include <algorithm>
#include <cctype>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostChanges = 2000;

}  // namespace

// Bytes outside ASCII are letters.
bool is_word_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || std::isalnum(byte) || c == '_';
}

void EditBuffer::reset(std::string text) {
  text_ = std::move(text);
  point_ = text_.size();
  changes_.clear();
}

void EditBuffer::move_to(std::size_t point) { point_ = std::min(point, text_.size()); }

bool EditBuffer::replace(std::size_t begin, std::size_t end, std::string_view by) {
  end = std::min(end, text_.size());
  begin = std::min(begin, end);
  if (text_.size() - (end - begin) + by.size() > kMostBytes) return false;
  if (begin == end && by.empty()) return true;
  if (changes_.size() >= kMostChanges) changes_.erase(changes_.begin(), changes_.begin() + kMostChanges / 2);
  changes_.push_back({begin, text_.substr(begin, end - begin), std::string(by), point_, step_, false});
  if (depth_ == 0) ++step_;
  text_.replace(begin, end - begin, by);
  point_ = begin + by.size();
  return true;
}

bool EditBuffer::type(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (depth_ == 0 && !changes_.empty() && text_.size() < kMostBytes) {
    Change& last = changes_.back();
    const bool follows = last.typed && last.at + last.inserted.size() == point_ && last.inserted.size() < kLongest;
    if (follows && is_word_character(text[0]) == is_word_character(last.inserted.back())) {
      last.inserted += text;
      text_.insert(point_, text);
      point_ += text.size();
      return true;
    }
  }
  if (!insert(text)) return false;
  if (depth_ == 0) changes_.back().typed = true;
  return true;
}

bool EditBuffer::undo() {
  if (changes_.empty()) return false;
  const unsigned step = changes_.back().step;
  while (!changes_.empty() && changes_.back().step == step) {
    Change& last = changes_.back();
    text_.replace(last.at, last.inserted.size(), last.removed);
    point_ = last.point;
    changes_.pop_back();
  }
  return true;
}

bool EditBuffer::undo_all() {
  const bool any = undo();
  while (undo()) {
  }
  return any;
}

std::size_t EditBuffer::line_start(std::size_t at) const {
  const auto before = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  return before == std::string::npos ? 0 : before + 1;
}

std::size_t EditBuffer::line_end(std::size_t at) const { return std::min(text_.find('\n', at), text_.size()); }

std::size_t EditBuffer::next(std::size_t at) const { return next_character(text_, at); }
std::size_t EditBuffer::previous(std::size_t at) const { return previous_character(text_, at); }

std::size_t EditBuffer::word_end(std::size_t at) const {
  while (at < text_.size() && !is_word_character(text_[at])) ++at;
  while (at < text_.size() && is_word_character(text_[at])) ++at;
  return at;
}

std::size_t EditBuffer::word_start(std::size_t at) const {
  while (at > 0 && !is_word_character(text_[at - 1])) --at;
  while (at > 0 && is_word_character(text_[at - 1])) --at;
  return at;
}

std::size_t EditBuffer::blank_word_start(std::size_t at) const {
  while (at > 0 && is_space(text_[at - 1])) --at;
  while (at > 0 && !is_space(text_[at - 1])) --at;
  return at;
}

std::size_t EditBuffer::at_column(std::size_t line, int column) const {
  const std::size_t end = line_end(line);
  int passed = 0;
  while (line < end) {
    const std::size_t next = std::min(next_character(text_, line), end);
    passed += columns_of(std::string_view(text_).substr(line, next - line));
    if (passed > column) break;
    line = next;
  }
  return line;
}

int EditBuffer::column_of(std::size_t at) const {
  const std::size_t start = line_start(at);
  return columns_of(std::string_view(text_).substr(start, at - start));
}

}  // namespace rldb::ui
