// Values as text. Tensors look like NumPy's str(array): shortest digits that round-trip in the element's own format
// (at most `precision` after the point), columns aligned, long arrays summarised at the edges.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "rldb/runtime/described.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/value.h"
#include "rldb/support/cancel.h"
#include "runtime/kv/cache_text.h"
#include "runtime/text/number_text.h"

namespace rldb::runtime {

namespace {

constexpr int kMaxDepth = 64;     // of nested tuples; deeper ones are shown as `...`
constexpr int kMaxFields = 1000;  // of all tuples of a value; `...` replaces the rest

// A number split at the point: "-12" "5", with "+10" in scientific form.
struct Digits {
  std::string whole;
  std::string fraction;
  std::string exponent;
};

Digits split(const std::string& text) {
  Digits d;
  const std::size_t e = text.find('e');
  const std::string mantissa = text.substr(0, e);
  if (e != std::string::npos) d.exponent = text.substr(e + 1);
  const std::size_t point = mantissa.find('.');
  d.whole = mantissa.substr(0, point);
  if (point != std::string::npos) d.fraction = mantissa.substr(point + 1);
  return d;
}

// The columns of one tensor: decided from the shown elements, then applied to each.
class ElementFormat {
 public:
  ElementFormat(const Tensor& tensor, const std::vector<std::int64_t>& shown, const FormatOptions& options)
      : tensor_(tensor), type_(tensor.dtype()), precision_(options.precision) {
    if (type_.is_float()) {
      measure_floats(shown);
    } else {
      for (const std::int64_t i : shown) width_ = std::max(width_, integer(i).size());
      // NumPy pads booleans as if a False were always there.
      if (type_.is_bool()) width_ = std::max<std::size_t>(width_, 5);
    }
  }

  std::string operator()(std::int64_t index) const {
    if (!type_.is_float()) return fmt::format("{:>{}}", integer(index), width_);
    const double v = tensor_.at(index);
    if (!std::isfinite(v)) {
      return fmt::format("{:>{}}", float_word(v), left_ + 1 + right_ + exponent_width());
    }
    return scientific_ ? scientific(v) : fixed(v);
  }

 private:
  std::size_t exponent_width() const { return scientific_ ? exponent_ + 1 : 0; }

  static std::string float_word(double v) { return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }

  std::string integer(std::int64_t index) const {
    const std::byte* at = tensor_.peek() + std::size_t(index) * type_.bytes();
    const std::int64_t v = load_as_int(at, type_);
    if (type_.is_bool()) return v ? "True" : "False";
    if (type_.is_handle()) return fmt::format("{:#x}", static_cast<std::uint64_t>(v));
    return type_.is_uint() ? std::to_string(static_cast<std::uint64_t>(v)) : std::to_string(v);
  }

  void measure_floats(const std::vector<std::int64_t>& shown) {
    double largest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::int64_t i : shown) {
      const double v = std::fabs(tensor_.at(i));
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, v);
      least = std::min(least, v);
    }
    // NumPy's rule for when fixed notation stops being readable.
    scientific_ = largest > 0 && (largest >= 1e8 || least < 1e-4 || largest / least > 1000);
    std::size_t special = 0;
    for (const std::int64_t i : shown) {
      const double v = tensor_.at(i);
      if (!std::isfinite(v)) {
        special = std::max(special, float_word(v).size());
        continue;
      }
      const Digits d = digits(v);
      left_ = std::max(left_, d.whole.size());
      right_ = std::max(right_, d.fraction.size());
      exponent_ = std::max(exponent_, d.exponent.size());
    }
    const std::size_t rest = 1 + right_ + exponent_width();
    if (special > left_ + rest) left_ = special - rest;
  }

  Digits digits(double v) const {
    return split(scientific_ ? shortest_scientific(v, type_, precision_) : shortest_fixed(v, type_, precision_));
  }

  // `1.5 ` beside `2.25`: the fraction is padded with spaces, as NumPy does.
  std::string fixed(double v) const {
    const Digits d = digits(v);
    return fmt::format("{:>{}}.{:<{}}", d.whole, left_, d.fraction, right_);
  }
  // `1.5e+10` beside `2.25e+00`: the fraction is padded with zeros.
  std::string scientific(double v) const {
    const Digits d = digits(v);
    return fmt::format("{:>{}}.{:0<{}}e{}", d.whole, left_, d.fraction, right_, d.exponent);
  }

  const Tensor& tensor_;
  DType type_;
  int precision_;
  std::size_t width_ = 0;  // of everything except floats
  bool scientific_ = false;
  std::size_t left_ = 0;
  std::size_t right_ = 0;
  std::size_t exponent_ = 0;
};

// Writes the brackets, breaks lines, and omits the middle of long axes.
class TensorText {
 public:
  TensorText(const Tensor& tensor, const FormatOptions& options)
      : tensor_(tensor),
        shape_(tensor.shape()),
        options_(options),
        summary_(tensor.element_count() > options.max_elements) {
    std::vector<std::int64_t> shown;
    // The other dims of an empty tensor may be of any size: (2**32, 2**32, 0).
    if (tensor.element_count() > 0) {
      strides_.assign(shape_.size(), 1);
      for (std::size_t i = shape_.size(); i-- > 1;) strides_[i - 1] = strides_[i] * shape_[i];
      collect(0, 0, shown);
    }
    format_.emplace_back(tensor, shown, options);
  }

  std::string text() const {
    if (tensor_.element_count() == 0) return "[]";
    return axis(0, 0, " ", options_.line_width);
  }

 private:
  // The indices along an axis that are shown; -1 is the gap.
  std::vector<std::int64_t> shown_along(std::size_t axis) const {
    const std::int64_t n = shape_[axis];
    const std::int64_t edge = options_.edge_items;
    std::vector<std::int64_t> indices;
    const bool gap = summary_ && n > 2 * edge;
    for (std::int64_t i = 0; i < n; ++i) {
      if (gap && i == edge) {
        indices.push_back(-1);
        i = n - edge;
      }
      indices.push_back(i);
    }
    return indices;
  }

  void collect(std::size_t axis, std::int64_t base, std::vector<std::int64_t>& shown) const {
    if (axis == shape_.size()) {
      shown.push_back(base);
      return;
    }
    for (const std::int64_t i : shown_along(axis)) {
      if (i >= 0) collect(axis + 1, base + i * strides_[axis], shown);
    }
  }

  // Recursion is bounded by the rank.
  std::string axis(std::size_t axis_index, std::int64_t base, const std::string& indent, int width) const {
    if (axis_index + 1 == shape_.size()) return row(axis_index, base, indent, width);
    const std::string breaks(shape_.size() - axis_index - 1, '\n');
    std::string text = "[";
    bool first = true;
    for (const std::int64_t i : shown_along(axis_index)) {
      if (!first) text += breaks + indent;
      first = false;
      text += i < 0 ? "..." : axis(axis_index + 1, base + i * strides_[axis_index], indent + ' ', width - 1);
    }
    return text + "]";
  }

  std::string row(std::size_t axis_index, std::int64_t base, const std::string& indent, int width) const {
    std::string text = "[";
    std::size_t column = indent.size();
    bool first = true;
    for (const std::int64_t i : shown_along(axis_index)) {
      const std::string word = i < 0 ? "..." : format_.front()(base + i);
      const std::size_t gap = first ? 0 : 1;
      if (!first && column + gap + word.size() > std::size_t(std::max(width - 1, 1))) {
        text += "\n" + indent + word;
        column = indent.size() + word.size();
      } else {
        text.append(gap, ' ');
        text += word;
        column += gap + word.size();
      }
      first = false;
    }
    return text + "]";
  }

  const Tensor& tensor_;
  const std::vector<std::int64_t>& shape_;
  const FormatOptions& options_;
  bool summary_;
  std::vector<std::int64_t> strides_;
  std::vector<ElementFormat> format_;  // one; a vector only for late construction
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  return fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
}

std::string tensor_body(const Tensor& tensor, const FormatOptions& options) {
  if (!tensor.dtype().is_scalar()) {
    return fmt::format("<elements of `{}` are not shown>", to_string(tensor.dtype()));
  }
  if (auto there = read_back(*tensor.storage()); !there.ok())
    return fmt::format("<not readable: {}>", there.error().message);
  if (tensor.ndim() > 0) return TensorText(tensor, options).text();
  return element_text(tensor.peek(), tensor.dtype());
}

// Nothing for the host.
std::string device_text(Device device, std::string_view before, std::string_view after) {
  return device.is_host() ? std::string() : fmt::format("{}{}{}", before, to_string(device), after);
}

std::string own_description(const Value& v, std::size_t width) {
  if (!v.is(ValueKind::Tuple) && !v.is(ValueKind::Object)) return {};
  const auto* described = dynamic_cast<const Described*>(v.object());
  return described ? described->description(width) : std::string();
}

// `indent` goes before every line but the first. `left`: fields that may still be shown.
void append(std::string& out, const Value& v, const FormatOptions& options, std::size_t indent, int depth, int& left) {
  support::poll();
  if (v.is(ValueKind::Tensor)) {
    const std::string pad = "\n" + std::string(indent, ' ');
    out += describe(v) + pad;
    for (const char c : tensor_body(v.as_tensor(), options)) {
      if (c == '\n') {
        while (out.ends_with(' ')) out.pop_back();
        out += pad;
      } else {
        out += c;
      }
    }
    return;
  }
  if (!v.is(ValueKind::Tuple)) {
    out += describe(v);
    return;
  }
  constexpr std::size_t kWidth = 10'000;
  if (const std::string own = own_description(v, kWidth); !own.empty()) {
    out += own;
    return;
  }
  if (const std::string cache = kv::cache_text(v); !cache.empty()) {
    for (const char c : cache) {
      out += c;
      if (c == '\n') out.append(std::size_t(indent), ' ');
    }
    return;
  }
  out += describe(v);
  const auto& fields = v.as_tuple().fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (left-- <= 0) {
      out += "\n" + std::string(indent, ' ') + "...";
      return;
    }
    const std::string label = fmt::format("[{}] ", i);
    out += "\n" + std::string(indent, ' ') + label;
    if (depth >= kMaxDepth) {
      out += "...";
    } else {
      append(out, fields[i], options, indent + label.size(), depth + 1, left);
    }
  }
}

}  // namespace

std::string describe(const Value& v) {
  constexpr std::size_t kWidth = 100;
  if (std::string own = own_description(v, kWidth); !own.empty()) return own;
  switch (v.kind()) {
    case ValueKind::Null:
      return "null";
    case ValueKind::Int:
      return std::to_string(v.as_int());
    case ValueKind::Float:
      return scalar_text(v.as_float(), DType::Float(64));
    case ValueKind::Bool:
      return v.as_int() ? "True" : "False";
    case ValueKind::DType:
      return fmt::format("dtype(\"{}\")", to_string(v.as_dtype()));
    case ValueKind::String:
      return quoted(v.as_string());
    case ValueKind::Shape:
      return fmt::format("shape({})", fmt::join(v.as_shape(), ", "));
    case ValueKind::Tensor:
      return fmt::format("Tensor[{}, \"{}\"{}]", shape_text(v.as_tensor().shape()), to_string(v.as_tensor().dtype()),
                         device_text(v.as_tensor().device(), ", \"", "\""));
    case ValueKind::Tuple:
      return fmt::format("tuple({})", v.as_tuple().fields.size());
    case ValueKind::Function:
      return v.as_function().captured.empty()
                 ? fmt::format("function(`{}`)", v.as_function().name)
                 : fmt::format("closure(`{}`, {} captured)", v.as_function().name, v.as_function().captured.size());
    case ValueKind::Storage:
      return fmt::format("storage({} bytes{})", v.storage_ref()->size(),
                         device_text(v.storage_ref()->device(), " on ", ""));
    case ValueKind::Object:
      return "object";
  }
  return "?";
}

std::string format_value(const Value& v, const FormatOptions& options) {
  std::string out;
  int left = kMaxFields;
  append(out, v, options, 0, 0, left);
  return out;
}

std::string format_brief(const Value& v) {
  constexpr std::size_t kWidth = 120;
  FormatOptions options;
  options.max_elements = 8;
  options.edge_items = 2;
  options.line_width = 1 << 20;
  std::string line;
  for (const char c : format_value(v, options)) {
    const char one = c == '\n' ? ' ' : c;
    if (one != ' ' || line.empty() || line.back() != ' ') line += one;
    if (line.size() > kWidth) return line + "...";
  }
  return line;
}

}  // namespace rldb::runtime
