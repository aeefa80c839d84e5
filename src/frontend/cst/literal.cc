// Python's strings to values: prefixes, escapes.
#include "frontend/cst/literal.h"

#include <charconv>

namespace rldb::frontend::cst {

StringLiteral split_string(std::string_view text) {
  StringLiteral out;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != '"' && text[i] != '\''; ++i) {
    const char c = static_cast<char>(text[i] | 0x20);
    if (c == 'r') out.raw = true;
    if (c == 'f') out.formatted = true;
    if (c == 'b') out.bytes = true;
  }
  std::size_t quotes = 1;
  if (i + 2 < text.size() && text[i + 1] == text[i] && text[i + 2] == text[i] && text.size() - i >= 6) quotes = 3;
  const std::size_t begin = i + quotes;
  const std::size_t end = text.size() >= begin + quotes ? text.size() - quotes : begin;
  out.body = text.substr(begin <= text.size() ? begin : text.size(), end > begin ? end - begin : 0);
  out.offset = static_cast<std::uint32_t>(begin);
  out.plain = out.raw || out.body.find('\\') == std::string_view::npos;
  return out;
}

namespace {

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// After "\x", "\u", "\U": exactly `digits` hex digits at `i`.
bool append_hex(std::string& out, std::string_view body, std::size_t& i, std::size_t digits) {
  if (i + digits > body.size()) return false;
  std::uint32_t value = 0;
  const auto [end, ec] = std::from_chars(body.data() + i, body.data() + i + digits, value, 16);
  if (ec != std::errc() || end != body.data() + i + digits || value > 0x10FFFF) return false;
  append_utf8(out, value);
  i += digits;
  return true;
}

void append_octal(std::string& out, std::string_view body, std::size_t& i) {
  std::uint32_t value = 0;
  for (int n = 0; n < 3 && i < body.size() && is_octal(body[i]); ++n)
    value = value * 8 + std::uint32_t(body[i++] - '0');
  append_utf8(out, value);
}

char simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
      return '\\';
    case '\'':
      return '\'';
    case '"':
      return '"';
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::string> unescape(const StringLiteral& s) {
  const std::string_view body = s.body;
  if (s.plain) return std::string(body);
  std::string out;
  out.reserve(body.size());
  for (std::size_t i = 0; i < body.size();) {
    const std::size_t slash = body.find('\\', i);
    out.append(body.substr(i, slash - i));
    if (slash == std::string_view::npos) break;
    i = slash + 1;
    if (i >= body.size()) return std::nullopt;
    const char c = body[i];
    if (const char simple = simple_escape(c)) {
      out += simple;
      ++i;
    } else if (c == '\n') {
      ++i;
    } else if (c == '\r') {
      i += body.substr(i, 2) == "\r\n" ? 2 : 1;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      ++i;
      if (!append_hex(out, body, i, c == 'x' ? 2 : c == 'u' ? 4 : 8)) return std::nullopt;
    } else if (is_octal(c)) {
      append_octal(out, body, i);
    } else {  // Python keeps the backslash of an unknown escape
      out += '\\';
    }
  }
  return out;
}

}  // namespace rldb::frontend::cst
