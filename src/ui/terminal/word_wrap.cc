// Counts columns, finds the text of rows, breaks lines.
#include "ui/terminal/word_wrap.h"

#include <algorithm>

#include "rldb/ui/terminal/characters.h"

namespace rldb::ui {

namespace {

constexpr int kWrapIndent = 2;
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

// The column of the text of a row: behind the last blanks, two or more, in the first half of the line. `   12    lv =
// ...` is one, and `topic     heap      show ...`; 0: it is no row.
int column_of_text(std::string_view line, int width) {
  int column = 0;
  bool inked = false;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
    const std::size_t blank = std::min(line.find("  ", at), line.size());
    const std::size_t text = std::min(line.find_first_not_of(' ', blank), line.size());
    if (inked |= blank > at, text == line.size()) break;
    const int columns = shown_columns(line.substr(0, text));
    if (columns > width / 2) break;
    column = columns;
    at = text;
  }
  return inked ? column : 0;
}

// `   12 | lv = ...` of a diagnostic, whose marks are below.
bool is_quoted(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && (line[at] == '\033' || std::string_view(" 0123456789").find(line[at]) != line.npos))
    at += line[at] == '\033' ? escape_length(line.substr(at)) : 1;
  return at > 0 && at < line.size() && line[at] == '|';
}

void add_line(std::string_view line, int width, std::string& out) {
  const bool fits = line.size() <= std::size_t(width) || shown_columns(line) <= width;
  const int text = fits || is_quoted(line) ? 0 : column_of_text(line, width);
  if (fits || line[0] == '\t' || (line[0] == ' ' && text == 0)) {
    out += line;
    return;
  }
  const int indent = text + kWrapIndent;
  int column = 0;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const int columns = shown_columns(word);
    if (at > 0 && column + 1 + columns > width && column > indent) {
      out += '\n';
      out.append(std::size_t(indent), ' ');
      column = indent;
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
