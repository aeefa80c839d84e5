// Shortest digits of floats in every format, and NumPy's layout of them.
#include "runtime/text/number_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "runtime/value/small_float.h"

namespace rldb::runtime {

namespace {

// Longest fixed form: 309 digits, point, some hundred more.
using CharBuffer = std::array<char, 1200>;

template <class... Args>
std::string chars(Args... args) {
  CharBuffer buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), args...);
  return std::string(buffer.data(), result.ptr);
}

// "d.ddde+XX" with the fewest digits that identify v among the numbers of format t.
std::string fewest_digits(double v, DType t) {
  if (t.code == TypeCode::Float && t.bits == 32) {
    return chars(static_cast<float>(v), std::chars_format::scientific);
  }
  const SmallFloat* format = small_float(t);
  if (!format) return chars(v, std::chars_format::scientific);
  const std::uint32_t wanted = encode_small(*format, v);
  for (int digits = 0; digits < 17; ++digits) {
    const std::string text = chars(v, std::chars_format::scientific, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (encode_small(*format, back) == wanted) return text;
  }
  return chars(v, std::chars_format::scientific);
}

// Digits and decimal exponent of "d.ddde+XX".
struct Decimal {
  bool negative = false;
  std::string digits;  // without point, no trailing zeros, at least one
  int exponent = 0;    // of the first digit
};

Decimal parse_decimal(const std::string& text) {
  Decimal d;
  const std::size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c == '-') d.negative = true;
    if (c >= '0' && c <= '9') d.digits += c;
  }
  const char* first = text.data() + e + 1;
  if (*first == '+') ++first;
  std::from_chars(first, text.data() + text.size(), d.exponent);
  while (d.digits.size() > 1 && d.digits.back() == '0') d.digits.pop_back();
  return d;
}

std::string fixed_text(const Decimal& d) {
  std::string whole;
  std::string fraction;
  const int count = static_cast<int>(d.digits.size());
  if (d.exponent < 0) {
    whole = "0";
    fraction = std::string(std::size_t(-d.exponent - 1), '0') + d.digits;
  } else if (d.exponent + 1 >= count) {
    whole = d.digits + std::string(std::size_t(d.exponent + 1 - count), '0');
  } else {
    whole = d.digits.substr(0, std::size_t(d.exponent + 1));
    fraction = d.digits.substr(std::size_t(d.exponent + 1));
  }
  if (fraction == "0") fraction.clear();
  return (d.negative ? "-" : "") + whole + "." + fraction;
}

}  // namespace

std::string shortest_fixed(double v, DType t, int precision) {
  if (v == 0) return std::signbit(v) ? "-0." : "0.";
  std::string text = fixed_text(parse_decimal(fewest_digits(v, t)));
  if (text.size() - text.find('.') - 1 <= std::size_t(precision)) return text;
  text = chars(v, std::chars_format::fixed, precision);
  if (text.find('.') == std::string::npos) text += '.';
  while (text.ends_with('0')) text.pop_back();
  return text;
}

std::string shortest_scientific(double v, DType t, int precision) {
  Decimal d = parse_decimal(fewest_digits(v, t));
  if (d.digits.size() > std::size_t(precision) + 1) {
    d = parse_decimal(chars(v, std::chars_format::scientific, precision));
  }
  return fmt::format("{}{}.{}e{}{:02}", d.negative ? "-" : "", d.digits[0], d.digits.substr(1),
                     d.exponent < 0 ? "-" : "+", std::abs(d.exponent));
}

std::string scalar_text(double v, DType t) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(v);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    std::string text = shortest_scientific(v, t, 17);
    const std::size_t bare_point = text.find(".e");
    if (bare_point != std::string::npos) text.erase(bare_point, 1);
    return text;
  }
  std::string text = shortest_fixed(v, t, 1000);
  if (text.ends_with('.')) text += '0';
  return text;
}

std::string element_text(const void* data, DType t) {
  if (t.is_float()) return scalar_text(load_as_double(data, t), t);
  const std::int64_t v = load_as_int(data, t);
  if (t.is_bool()) return v ? "True" : "False";
  if (t.is_handle()) return fmt::format("{:#x}", static_cast<std::uint64_t>(v));
  return t.is_uint() ? std::to_string(static_cast<std::uint64_t>(v)) : std::to_string(v);
}

}  // namespace rldb::runtime
