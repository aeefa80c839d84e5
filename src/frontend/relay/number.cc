// Numbers: a run of digits and signs, `f` or `i`, a width.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "frontend/relay/reader.h"
#include "rldb/source/diagnostic_relay.h"

namespace rldb::frontend::relay_text {

namespace {

struct Parts {
  bool negative = false;
  std::string_view digits;
  char suffix = 0;
  std::string_view width;
};

Parts split(std::string_view text) {
  Parts parts;
  while (text.starts_with('-')) {
    parts.negative = !parts.negative;
    text.remove_prefix(1);
  }
  const std::size_t end = text == "inff" ? 3 : text.find_first_of("fi");
  parts.digits = text.substr(0, end);
  if (end < text.size()) {
    parts.suffix = text[end];
    parts.width = text.substr(end + 1);
  }
  return parts;
}

bool read_width(std::string_view text, int& bits) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  return error == std::errc() && end == text.data() + text.size() && (bits == 16 || bits == 32 || bits == 64);
}

bool is_float_text(std::string_view digits) {
  const std::string text(digits);
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

bool fits(double value, int bits) {
  const double most = bits == 16 ? 65504.0 : bits == 32 ? double(std::numeric_limits<float>::max()) : HUGE_VAL;
  return std::abs(value) <= most;
}

bool fits(std::int64_t value, int bits) {
  const std::int64_t most = bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t(1) << (bits - 1)) - 1;
  return value <= most && value >= -most - 1;
}

bool report_range(Node n, char kind, int bits, source::Diagnostics& out) {
  const std::string dtype = (kind == 'f' ? "float" : "int") + std::to_string(bits);
  out.add(n.span(), source::message(diag::RelayNumberRange, n.text(), dtype));
  return false;
}

bool read_float(Node n, const Parts& parts, Number& number, source::Diagnostics& out) {
  number.is_float = true;
  if (parts.digits == "inf") {
    number.real = parts.negative ? -HUGE_VAL : HUGE_VAL;
    return true;
  }
  number.real = std::strtod(std::string(parts.digits).c_str(), nullptr);
  if (parts.negative) number.real = -number.real;
  return (fits(number.real, number.bits) && std::isfinite(number.real)) || report_range(n, 'f', number.bits, out);
}

bool read_int(Node n, const Parts& parts, Number& number, source::Diagnostics& out) {
  const std::string text = (parts.negative ? "-" : "") + std::string(parts.digits);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.integer);
  if (end != text.data() + text.size() && error != std::errc::result_out_of_range) {
    if (parts.suffix == 0 && is_float_text(parts.digits))
      out.add(n.span(), source::message(diag::RelayFloatSuffix, n.text()));
    else
      out.add(n.span(), source::message(diag::RelayBadNumber, n.text()));
    return false;
  }
  const bool too_large = error == std::errc::result_out_of_range;
  // Without a suffix an integer takes the width that it needs.
  if (parts.suffix == 0 && !too_large && !fits(number.integer, 32)) number.bits = 64;
  return (!too_large && fits(number.integer, number.bits)) || report_range(n, 'i', too_large ? 64 : number.bits, out);
}

}  // namespace

bool read_number(Node n, Number& number, source::Diagnostics& out) {
  const Parts parts = split(n.text());
  if (!read_width(parts.width, number.bits)) {
    const bool only_digits = parts.width.find_first_not_of("0123456789") == std::string_view::npos;
    if (only_digits)
      out.add(n.span(), source::message(diag::RelayNumberWidth, n.text()));
    else
      out.add(n.span(), source::message(diag::RelayBadNumber, n.text()));
    return false;
  }
  if (parts.suffix != 'f') return read_int(n, parts, number, out);
  if (parts.digits != "inf" && !is_float_text(parts.digits)) {
    out.add(n.span(), source::message(diag::RelayBadNumber, n.text()));
    return false;
  }
  return read_float(n, parts, number, out);
}

}  // namespace rldb::frontend::relay_text
