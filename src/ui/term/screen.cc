#include "ui/term/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cwchar>

namespace rldb::ui {

namespace {

// Length of an escape sequence at the start of `text`, 0 when there is none.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\033' || text[1] != '[') return 0;
  std::size_t i = 2;
  while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
  return i < text.size() ? i + 1 : text.size();
}

// Length in bytes of the character at the start, and its code point. A byte that begins none stands for itself.
std::size_t decode(std::string_view text, wchar_t& c) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
  c = first;
  if (length == 1 || length > text.size()) return 1;
  wchar_t whole = wchar_t(first & (0xFF >> (length + 1)));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return 1;
    whole = wchar_t((whole << 6) | (next & 0x3F));
  }
  c = whole;
  return length;
}

}  // namespace

ScreenPosition advance(ScreenPosition at, std::string_view text, int width) {
  while (!text.empty()) {
    if (const std::size_t skip = escape_length(text)) {
      text.remove_prefix(skip);
      continue;
    }
    if (text[0] == '\n') {
      ++at.row;
      at.column = 0;
      text.remove_prefix(1);
      continue;
    }
    wchar_t c = 0;
    text.remove_prefix(decode(text, c));
    const int columns = c == L'\t' ? 8 - at.column % 8 : ::wcwidth(c);
    const int takes = columns < 0 ? 2 : columns;  // control characters are shown as ^X
    if (at.column + takes > width) {
      ++at.row;
      at.column = 0;
    }
    at.column += takes;
  }
  return at;
}

int terminal_width() {
  struct winsize size {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string displayable(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    wchar_t c = 0;
    const std::size_t length = decode(text, c);
    if (c == L'\n' || c == L'\t' || (c >= 0x20 && c < 0x7F) || (length > 1 && c >= 0xA0))
      out += text.substr(0, length);
    else if (length == 1 && (c < 0x20 || c == 0x7F))
      out += {'^', char(c ^ 0x40)};
    else
      out += kReplacement;
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace rldb::ui
