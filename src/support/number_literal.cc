// Digits with underscores, in all bases.
#include "rldb/support/number_literal.h"

#include <charconv>
#include <cstdlib>
#include <string>

namespace rldb::support {

std::optional<std::int64_t> read_integer(std::string_view text, bool& too_big) {
  too_big = false;
  std::string clean;
  if (text.find('_') != std::string_view::npos) {
    for (const char c : text)
      if (c != '_') clean += c;
    text = clean;
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0') {
    const char c = static_cast<char>(text[1] | 0x20);
    base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
    if (base != 10) text.remove_prefix(2);
  }
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec == std::errc() && end == text.data() + text.size()) return value;
  too_big = ec == std::errc::result_out_of_range;
  return std::nullopt;
}

std::optional<double> read_float(std::string_view text) {
  std::string clean;
  for (const char c : text)
    if (c != '_') clean += c;
  if (clean.empty() || (clean.back() | 0x20) == 'j') return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(clean.c_str(), &end);
  if (end != clean.c_str() + clean.size()) return std::nullopt;
  return value;
}

}  // namespace rldb::support
