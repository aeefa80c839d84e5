// Reads an input's text, in the form of its parameter's type.
#include "rldb/session/typed_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rldb/expression/array.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/value_text.h"
#include "rldb/support/text.h"

namespace rldb::session {

using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

Result<Value> expression_value(std::string_view text, const FindValue& find) {
  const auto name = [&](std::string_view word) -> Result<Value> {
    if (const Value* known = find(word)) return *known;
    return fail(ErrorKind::Unsupported, fmt::format("the session has no value `{}`", word));
  };
  const auto call = [](std::string_view function, std::span<const expression::CallArgument>) -> Result<Value> {
    return fail(ErrorKind::Unsupported,
                fmt::format("`{}` is not a function of expressions: enter `a = {}(...)` first, and give `a`", function,
                            function));
  };
  return expression::evaluate_text(text, name, call);
}

Result<Value> as_tensor(const ir::TensorType* type, const Value& v, Tensors tensors) {
  if (v.is(ValueKind::Tensor) && tensors == Tensors::Keep) return v;
  const bool number = expression::is_number(v);
  if (number && type->ndim > 0) return v;
  if (!number && !v.is(ValueKind::Tuple) && !v.is(ValueKind::Tensor)) return v;
  RLDB_TRY(auto tensor,
           v.is(ValueKind::Tensor) ? Result<support::Ref<Tensor>>(v.tensor_ref()) : expression::as_tensor(v));
  RLDB_TRY(tensor, expression::plain_numbers_as(tensor, type->dtype));
  return Value(std::move(tensor));
}

// A scalar parameter: an integer for a float, 0 and 1 for a boolean. Fractions for integers are left to the check of
// arguments.
Result<Value> as_scalar(const ir::PrimType* type, const Value& v) {
  if (!expression::is_number(v) || type->dtype.is_handle()) return v;
  if (type->dtype.is_integral() && v.is(ValueKind::Float)) return v;
  RLDB_TRY(auto tensor, expression::as_tensor(v));
  RLDB_TRY(tensor, expression::plain_numbers_as(tensor, type->dtype));
  if (type->dtype.is_bool()) return Value::of_bool(tensor->at(0) != 0);
  return type->dtype.is_float() ? Value::of_float(expression::as_double(v)) : Value::of_int(v.as_int());
}

Result<Value> as_shape(const Value& v) {
  std::vector<std::int64_t> dims;
  for (const Value& field : v.as_tuple().fields) {
    if (!field.is(ValueKind::Int)) return v;
    dims.push_back(field.as_int());
  }
  return Value::of_shape(std::move(dims));
}

}  // namespace

Result<Value> in_form_of(const ir::Type* type, const Value& v, Tensors tensors) {
  if (const auto* tensor = ir::as<ir::TensorType>(type)) return as_tensor(tensor, v, tensors);
  if (const auto* scalar = ir::as<ir::PrimType>(type)) return as_scalar(scalar, v);
  if (ir::as<ir::ShapeType>(type) && v.is(ValueKind::Tuple)) return as_shape(v);
  const auto* tuple = ir::as<ir::TupleType>(type);
  if (!tuple || !v.is(ValueKind::Tuple) || v.as_tuple().fields.size() != tuple->fields.size()) return v;
  std::vector<Value> fields;
  for (std::size_t i = 0; i < tuple->fields.size(); ++i) {
    RLDB_TRY(Value field, in_form_of(tuple->fields[i], v.as_tuple().fields[i], tensors));
    fields.push_back(std::move(field));
  }
  return Value::of_tuple(std::move(fields));
}

// A list of numbers, or one number, for a tensor of a known dtype: read in that dtype, so that no digit is lost.
static Result<Value> elements_as(const ir::TensorType* type, std::string_view text) {
  auto list = runtime::parse_list(text.starts_with('[') ? std::string(text) : fmt::format("[{}]", text), type->dtype);
  if (!list.ok() || text.starts_with('[')) return list;
  const Tensor& row = list->as_tensor();
  RLDB_TRY(auto scalar, Tensor::view(row.storage(), row.byte_offset(), {}, row.dtype()));
  return Value(std::move(scalar));
}

// `2x3xf32=...`, `f32=[1, 2]`, `(a; b)`.
static bool is_form_of_literals(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || text.substr(equals).starts_with("=="))
    return text.find(';') != std::string_view::npos;
  const std::string_view type = support::trim(text.substr(0, equals));
  const bool word = std::all_of(type.begin(), type.end(), expression::is_name_byte);
  return word || text.find(';') != std::string_view::npos;
}

// Numbers, and lists of nothing else. None: the text has another form.
static std::optional<Result<Value>> plain_numbers(std::string_view text, const ir::Type* type) {
  const bool is_list = text.starts_with('[');
  if (!is_list && !runtime::is_number_text(text)) return std::nullopt;
  const auto* tensor = ir::as<ir::TensorType>(type);
  const bool known = tensor && tensor->dtype.is_scalar() && !tensor->dtype.is_void() && (is_list || tensor->ndim == 0);
  Result<Value> elements = Value();
  if (known) elements = elements_as(tensor, text);
  if (known && elements.ok()) return elements;
  auto numbers = is_list ? runtime::parse_plain_list(text) : runtime::parse_value_literal(text);
  if (!numbers.ok()) return std::nullopt;
  // `[True, 2]` for floats.
  auto value = in_form_of(type, *numbers);
  return value.ok() || !known ? value : elements;
}

bool looks_like_value(std::string_view word) {
  word = support::trim(word);
  return !word.empty() && (!expression::is_name_byte(word[0]) || (word[0] >= '0' && word[0] <= '9') ||
                           word.find_first_of("=@([") != std::string_view::npos);
}

Result<Value> typed_value(std::string_view text, const ir::Type* type, const FindValue& find) {
  if (const Value* known = find(text)) return in_form_of(type, *known);
  text = support::trim(text);
  if (auto numbers = plain_numbers(text, type)) return *std::move(numbers);
  auto literal = value_of_text(text);
  if (literal.ok()) return in_form_of(type, *literal);
  if (is_form_of_literals(text)) return literal;
  auto value = expression_value(text, find);
  if (value.ok()) return in_form_of(type, *value, Tensors::Convert);
  const bool is_file = text.starts_with('@') && text.find(' ') == std::string_view::npos;
  return is_file ? std::move(literal) : std::move(value);
}

}  // namespace rldb::session
