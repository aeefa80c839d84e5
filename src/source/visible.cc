#include "rldb/source/visible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "source/utf8.h"

namespace rldb::source {

namespace {

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

// `ESC [ 1;31 m`: its length; 0 if there is none. Text hidden by its colour (8) is not one of ours.
std::size_t colour_at(std::string_view text) {
  constexpr std::size_t kLongest = 24;
  if (!text.starts_with("\033[")) return 0;
  std::size_t number = 0;
  for (std::size_t i = 2; i < std::min(text.size(), kLongest); ++i) {
    const char c = text[i];
    if (c >= '0' && c <= '9') {
      number = 10 * number + std::size_t(c - '0');
      continue;
    }
    if (c != ';' && c != 'm') return 0;
    if (number == 8) return 0;
    if (c == 'm') return i + 1;
    number = 0;
  }
  return 0;
}

std::string escape(const CodePoint& c, std::string_view bytes) {
  const auto value = static_cast<std::uint32_t>(c.value);
  // The second form is JSON's too, in whose strings the first ones are escaped already.
  if (c.valid) return value < 0x7F ? fmt::format("\\x{:02x}", value) : fmt::format("\\u{:04x}", value);
  std::string out;
  for (const char byte : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return out;
}

}  // namespace

bool is_obeyed(char32_t c) {
  if (c < 0x20) return c != '\n' && c != '\t';
  if (c < 0x7F) return false;
  if (c < 0xA0) return true;
  const bool direction =
      c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return direction || c == 0x2028 || c == 0x2029;
}

std::string visible(std::string_view text, const VisibleOptions& options) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool breaks = c == '\n' || c == '\t';
    if (is_plain(c) || (breaks && options.line_breaks)) {
      out += c;
      ++at;
      continue;
    }
    if (options.line_breaks && text.substr(at).starts_with("\r\n")) {
      out += c;
      ++at;
      continue;
    }
    if (const std::size_t colour = options.colours ? colour_at(text.substr(at)) : 0) {
      out += text.substr(at, colour);
      at += colour;
      continue;
    }
    const CodePoint point = decode(text, at);
    const std::string_view bytes = text.substr(at, point.bytes);
    if (point.valid && !breaks && !is_obeyed(point.value))
      out += bytes;
    else
      out += escape(point, bytes);
    at += point.bytes;
  }
  return out;
}

}  // namespace rldb::source
