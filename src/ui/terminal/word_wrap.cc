#include "ui/terminal/word_wrap.h"

#include <algorithm>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kWrapIndent = "  ";
constexpr int kNarrowest = 16;  // below that words do not fit anyway

int shown_columns(std::string_view text) {
  int columns = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\033') {
      i += escape_length(text.substr(i));
      continue;
    }
    const std::size_t next = next_character(text, i);
    columns += shown_character(text.substr(i, next - i)).columns;
    i = next;
  }
  return columns;
}

void add_line(std::string_view line, int width, std::string& out) {
  if (line.size() <= std::size_t(width) || line[0] == ' ' || line[0] == '\t' || shown_columns(line) <= width) {
    out += line;
    return;
  }
  int column = 0;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const int columns = shown_columns(word);
    if (at > 0 && column + 1 + columns > width && column > int(kWrapIndent.size())) {
      out += '\n';
      out += kWrapIndent;
      column = int(kWrapIndent.size());
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    at = end + 1;
  }
}

}  // namespace

std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\033' || text[1] != '[') return 1;
  std::size_t end = 2;
  while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
  return std::min(end + 1, text.size());
}

std::string break_between_words(std::string_view text, int width) {
  if (width < kNarrowest) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) add_line(text.substr(at, end - at), width, out);
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace rldb::ui
