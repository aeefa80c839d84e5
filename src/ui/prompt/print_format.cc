// `print/FMT`: values in hexadecimal, octal, binary, ..., with gdb's letters.
#include "ui/prompt/print_format.h"

#include <fmt/format.h>

#include <cstring>

#include "rldb/debug/facts.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::ui {

using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::string_view kLetters = "xduotfes";

// The bits of an element, without those of its neighbours.
std::uint64_t bits_of(const std::byte* data, DType t) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data, std::min<std::size_t>(t.bytes(), sizeof bits));
  return t.bits < 64 ? bits & ((std::uint64_t(1) << t.bits) - 1) : bits;
}

// `padded`: with all digits of its dtype, so that the elements of a tensor line up.
std::string element_text(const std::byte* data, DType t, char format, bool padded) {
  const std::uint64_t bits = bits_of(data, t);
  switch (format) {
    case 'x':
      return fmt::format("{:#0{}x}", bits, padded ? 2 + (t.bits + 3) / 4 : 1);
    case 'o':
      return fmt::format("{:#o}", bits);
    case 't':
      return fmt::format("{:#0{}b}", bits, padded ? 2 + t.bits : 1);
    case 'u':
      return t.is_float() ? fmt::format("{:.0f}", runtime::load_as_double(data, t)) : fmt::format("{}", bits);
    case 'd':
      return t.is_float() ? fmt::format("{:.0f}", runtime::load_as_double(data, t))
                          : fmt::format("{}", runtime::load_as_int(data, t));
    case 'f':
      return fmt::format("{:f}", runtime::load_as_double(data, t));
    default:
      return fmt::format("{:e}", runtime::load_as_double(data, t));
  }
}

// Nested brackets as in NumPy, up to the limit of elements.
std::string elements_text(const Tensor& t, char format, std::int64_t limit) {
  const std::int64_t count = t.element_count();
  const std::int64_t shown = std::min(count, limit);
  const auto& shape = t.shape();
  std::string text(shape.size(), '[');
  for (std::int64_t i = 0; i < shown; ++i) {
    support::poll();
    std::size_t closed = 0;  // dimensions that end before this element
    std::int64_t block = 1;
    for (std::size_t d = shape.size(); d-- > 0 && i > 0;) {
      block *= shape[d];
      if (i % block != 0) break;
      ++closed;
    }
    text += std::string(closed, ']');
    if (i > 0) text += closed > 0 ? "\n" + std::string(shape.size() - closed, ' ') : " ";
    text += std::string(closed, '[');
    text += element_text(t.peek() + std::size_t(i) * t.dtype().bytes(), t.dtype(), format, true);
  }
  if (shown < count) text += fmt::format(" ...{} more", count - shown);
  return text + std::string(shape.size(), ']');
}

}  // namespace

std::optional<FormattedExpression> split_format(std::string_view text) {
  text = support::trim(text);
  if (!text.starts_with('/')) return FormattedExpression{'\0', text};
  const auto blank = text.find_first_of(" \t");
  if (blank != 2 || kLetters.find(text[1]) == std::string_view::npos) return std::nullopt;
  return FormattedExpression{text[1], support::trim(text.substr(blank))};
}

std::string format_value_as(const Value& v, char format, const runtime::FormatOptions& options) {
  if (format == '\0') return runtime::format_value(v, options);
  if (format == 's') return runtime::describe(v);
  if (v.is(ValueKind::Int) || v.is(ValueKind::Bool)) {
    const std::int64_t number = v.as_int();
    return element_text(reinterpret_cast<const std::byte*>(&number), DType::Int(64), format, false);
  }
  if (v.is(ValueKind::Float)) {
    const double number = v.as_float();
    return element_text(reinterpret_cast<const std::byte*>(&number), DType::Float(64), format, false);
  }
  if (v.is(ValueKind::Tensor) && v.as_tensor().dtype().is_scalar() && !v.as_tensor().dtype().is_handle())
    return runtime::describe(v) + "\n" + elements_text(v.as_tensor(), format, options.max_elements);
  if (v.is(ValueKind::Shape)) {
    std::string text;
    for (const std::int64_t d : v.as_shape())
      text += (text.empty() ? "" : ", ") + format_value_as(Value::of_int(d), format, options);
    return "shape(" + text + ")";
  }
  return runtime::format_value(v, options);
}

}  // namespace rldb::ui
