// Values as text: numbers that read back bit for bit, names in a file for the others.
#include "ui/prompt/repro_file/value_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

namespace rldb::ui {

using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::int64_t kMostInline = 64;  // elements

std::string type_text(const Tensor& t) {
  std::string text;
  for (const std::int64_t dim : t.shape()) text += fmt::format("{}x", dim);
  return text + runtime::to_string(t.dtype());
}

std::string number_text(double v) {
  std::string text = fmt::format("{}", v);
  if (std::isfinite(v) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string element_text(const Tensor& t, std::int64_t i) {
  const DType dtype = t.dtype();
  if (dtype.is_bool()) return t.at(i) != 0 ? "1" : "0";
  if (dtype.is_int() || dtype.is_uint())
    return fmt::format("{}", runtime::load_as_int(t.peek() + std::size_t(i) * dtype.bytes(), dtype));
  return fmt::format("{}", t.at(i));
}

// Bit for bit.
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.byte_size() == b.byte_size() &&
         std::memcmp(a.peek(), b.peek(), a.byte_size()) == 0;
}

// In full; empty: it is too big, or numbers of its dtype do not read back unchanged.
std::string inline_text(const Tensor& t) {
  if (t.element_count() > kMostInline || !t.dtype().is_scalar()) return {};
  std::string text = type_text(t) + "=";
  for (std::int64_t i = 0; i < t.element_count(); ++i) text += (i > 0 ? "," : "") + element_text(t, i);
  const auto back = runtime::parse_value_literal(text);
  return back.ok() && back->is(ValueKind::Tensor) && same(back->as_tensor(), t) ? text : std::string();
}

std::string field_name(const std::string& name, std::size_t i) { return fmt::format("{}_{}", name, i); }

}  // namespace

void ValueTexts::collect(const Value& v, const std::string& name) {
  if (v.is(ValueKind::Tensor) && inline_text(v.as_tensor()).empty()) big_.emplace_back(name, v);
  if (!v.is(ValueKind::Tuple)) return;
  const auto& fields = v.as_tuple().fields;
  for (std::size_t i = 0; i < fields.size(); ++i) collect(fields[i], field_name(name, i));
}

std::optional<std::string> ValueTexts::text(const Value& v, const std::string& name, const std::string& file) {
  switch (v.kind()) {
    case ValueKind::Tensor: {
      const std::string whole = inline_text(v.as_tensor());
      return whole.empty() ? fmt::format("{}=@{}:{}", type_text(v.as_tensor()), file, name) : whole;
    }
    case ValueKind::Tuple: {
      std::string all;
      const auto& fields = v.as_tuple().fields;
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto one = text(fields[i], field_name(name, i), file);
        if (!one) return std::nullopt;
        all += *one + (i + 1 < fields.size() || i == 0 ? ";" : "");
      }
      return "(" + all + ")";
    }
    case ValueKind::Shape:
      return fmt::format("shape({})", fmt::join(v.as_shape(), ","));
    case ValueKind::Int:
      return fmt::format("{}", v.as_int());
    case ValueKind::Float:
      return number_text(v.as_float());
    case ValueKind::Bool:
      return v.as_int() != 0 ? "True" : "False";
    case ValueKind::Null:
      return "None";
    case ValueKind::String:
      if (v.as_string().find_first_of("\"\n") != std::string::npos) return std::nullopt;
      return fmt::format("\"{}\"", v.as_string());
    case ValueKind::DType:
    case ValueKind::Storage:
    case ValueKind::Function:
    case ValueKind::Object:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace rldb::ui
