#include "session/relay/relay_values.h"

#include <fmt/format.h>

#include "rldb/session/typed_value.h"

namespace rldb::session {

using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

const ir::Type* parameter_type(ir::Context& ctx, const relay::Type* t) {
  if (const auto* tuple = relay::as<relay::TupleType>(t)) {
    std::vector<const ir::Type*> fields;
    for (const relay::Type* f : tuple->fields) {
      fields.push_back(parameter_type(ctx, f));
      if (!fields.back()) return nullptr;
    }
    return ctx.tuple_type(fields);
  }
  const auto* tensor = relay::as<relay::TensorType>(t);
  if (!tensor) return nullptr;
  std::vector<const ir::Expr*> shape;
  for (const relay::Dim& d : tensor->shape)
    shape.push_back(d.kind == relay::DimKind::Known ? static_cast<const ir::Expr*>(ctx.i64(d.value))
                                                    : ctx.var("any", ctx.int64()));
  return ctx.tensor(shape, tensor->dtype);
}

namespace {

// A number of no known type, with the dtype that Relay's text gives to such a literal.
Result<Value> scalar_of(const Value& v) {
  const auto dtype = v.is(ValueKind::Float) ? runtime::DType::Float(32)
                     : v.is(ValueKind::Int) ? runtime::DType::Int(32)
                                            : runtime::DType::Bool();
  RLDB_TRY(auto t, runtime::Tensor::empty({}, dtype));
  if (v.is(ValueKind::Float))
    runtime::store_double(t->data(), dtype, v.as_float());
  else
    runtime::store_int(t->data(), dtype, v.as_int());
  return Value(t);
}

}  // namespace

Result<Value> relay_argument(const Value& given, const ir::Type* type) {
  const auto* tensor = ir::as<ir::TensorType>(type);
  switch (given.kind()) {
    case ValueKind::Int:
    case ValueKind::Bool:
    case ValueKind::Float:
      return tensor ? in_form_of(tensor, given) : scalar_of(given);
    case ValueKind::Tensor:
      return given;
    case ValueKind::Tuple: {
      if (given.as_tuple().fields.empty()) return given;
      const auto* tuple = ir::as<ir::TupleType>(type);
      std::vector<Value> fields;
      for (const Value& f : given.as_tuple().fields) {
        const std::size_t i = fields.size();
        RLDB_TRY(Value v, relay_argument(f, tuple && i < tuple->fields.size() ? tuple->fields[i] : nullptr));
        fields.push_back(std::move(v));
      }
      return Value::of_tuple(std::move(fields));
    }
    case ValueKind::Null:
    case ValueKind::DType:
    case ValueKind::String:
    case ValueKind::Shape:
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return runtime::fail(runtime::ErrorKind::TypeMismatch,
                       fmt::format("a {} is not a Relay value", to_string(given.kind())));
}

}  // namespace rldb::session
