// Reads an input's text, in the form of its parameter's type.
#include "rldb/session/typed_value.h"

#include <fmt/format.h>

#include <cstring>

#include "rldb/expression/array.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/value_text.h"
#include "rldb/support/text.h"

namespace rldb::session {

using runtime::DType;
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

// Of the numbers of an expression, of lists and of functions without a dtype.
bool is_of_plain_numbers(DType t) { return t.is_bool() || t == DType::Int(64) || t == DType::Float(64); }

Result<Value> in_dtype(const support::Ref<Tensor>& t, DType wanted) {
  if (t->dtype() == wanted || wanted.is_void() || !is_of_plain_numbers(t->dtype())) return Value(t);
  if (!wanted.is_scalar() || wanted.is_handle()) return Value(t);
  if (t->dtype().is_float() && wanted.is_integral())
    return fail(ErrorKind::TypeMismatch, fmt::format("floating-point numbers for dtype `{}`", to_string(wanted)));
  RLDB_TRY(auto converted, expression::cast(*t, wanted));
  if (!wanted.is_integral()) return Value(std::move(converted));
  RLDB_TRY(const auto back, expression::cast(*converted, t->dtype()));
  if (std::memcmp(back->data(), t->data(), t->byte_size()) != 0)
    return fail(ErrorKind::TypeMismatch, fmt::format("a number is out of the range of `{}`", to_string(wanted)));
  return Value(std::move(converted));
}

Result<Value> as_tensor(const ir::TensorType* type, const Value& v, Tensors tensors) {
  if (v.is(ValueKind::Tensor) && tensors == Tensors::Keep) return v;
  const bool number = expression::is_number(v);
  if (number && type->ndim > 0) return v;
  if (!number && !v.is(ValueKind::Tuple) && !v.is(ValueKind::Tensor)) return v;
  auto tensor = v.is(ValueKind::Tensor) ? Result<support::Ref<Tensor>>(v.tensor_ref()) : expression::as_tensor(v);
  if (!tensor.ok()) return v;  // a tuple of something else
  return in_dtype(*tensor, type->dtype);
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

Result<Value> typed_value(std::string_view text, const ir::Type* type, const FindValue& find) {
  if (const Value* known = find(text)) return in_form_of(type, *known);
  text = support::trim(text);
  auto literal = value_of_text(text);
  if (literal.ok()) return in_form_of(type, *literal);
  const auto* tensor = ir::as<ir::TensorType>(type);
  if (tensor && !tensor->dtype.is_void() && text.starts_with('[')) {
    auto list = runtime::parse_list(text, tensor->dtype);  // of any length
    if (list.ok()) return list;
    literal = std::move(list);
  }
  // The forms of literals have `=` and `;`, and only lists are long.
  constexpr std::size_t kLong = 1000;
  const bool no_expression = text.find_first_of("=;") != std::string_view::npos || text.size() > kLong;
  if (const auto parsed = expression::parse(text); !parsed.ok() && no_expression) return literal;
  RLDB_TRY(const Value value, expression_value(text, find));
  return in_form_of(type, value, Tensors::Convert);
}

}  // namespace rldb::session
