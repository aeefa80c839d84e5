// A native function whose results follow from its arguments.
#include "session/inputs/made_up_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rldb/eval/eval.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/text.h"

namespace rldb::session {

using ir::as;
using runtime::ErrorKind;
using runtime::fail;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

using DimValues = std::unordered_map<const ir::Var*, std::int64_t>;

bool is_told(const ir::Type* t) {
  if (const auto* tensor = as<ir::TensorType>(t)) return tensor->has_shape && !tensor->dtype.is_void();
  if (const auto* tuple = as<ir::TupleType>(t))
    return std::all_of(tuple->fields.begin(), tuple->fields.end(), [](const ir::Type* f) { return is_told(f); });
  if (const auto* prim = as<ir::PrimType>(t)) return !prim->dtype.is_handle();
  const auto* shape = as<ir::ShapeType>(t);
  return shape && shape->has_values;
}

void learn(ir::Span<const ir::Expr*> wanted, const std::vector<std::int64_t>& got, DimValues& dims) {
  for (std::size_t i = 0; i < wanted.size() && i < got.size(); ++i)
    if (const auto* v = as<ir::Var>(wanted[i])) dims.emplace(v, got[i]);
}

void learn(const ir::Type* type, const Value& v, DimValues& dims) {
  if (const auto* t = as<ir::TensorType>(type); t && t->has_shape && v.is(ValueKind::Tensor))
    learn(t->shape, v.as_tensor().shape(), dims);
  if (const auto* t = as<ir::ShapeType>(type); t && t->has_values && v.is(ValueKind::Shape))
    learn(t->values, v.as_shape(), dims);
  if (const auto* t = as<ir::TupleType>(type); t && v.is(ValueKind::Tuple))
    for (std::size_t i = 0; i < t->fields.size() && i < v.as_tuple().fields.size(); ++i)
      learn(t->fields[i], v.as_tuple().fields[i], dims);
}

Result<std::vector<std::int64_t>> concrete(ir::Span<const ir::Expr*> exprs, const DimValues& dims) {
  eval::ScalarEnv env;
  env.var = [&](const ir::Var* v) -> std::optional<Value> {
    const auto it = dims.find(v);
    return it == dims.end() ? std::nullopt : std::optional(Value::of_int(it->second));
  };
  std::vector<std::int64_t> out;
  for (const ir::Expr* e : exprs) {
    RLDB_TRY(const Value n, eval::eval_scalar(e, env));
    out.push_back(n.as_int());
  }
  return out;
}

void numbers_of(const Value& v, std::vector<double>& out) {
  constexpr std::size_t kEnough = 4096;
  if (v.is(ValueKind::Tuple))
    for (const Value& f : v.as_tuple().fields) numbers_of(f, out);
  if (v.is(ValueKind::Int) || v.is(ValueKind::Bool)) out.push_back(double(v.as_int()));
  if (v.is(ValueKind::Float)) out.push_back(v.as_float());
  if (!v.is(ValueKind::Tensor) || v.as_tensor().dtype().lanes != 1) return;
  const runtime::Tensor& t = v.as_tensor();
  for (std::int64_t i = 0; i < t.element_count() && out.size() < kEnough; ++i) out.push_back(t.at(i));
}

// The arguments' numbers in turn, each added to a number of the seed; integers stay small enough to be indices.
Result<Value> tensor_of(const ir::TensorType* t, const std::vector<double>& numbers, const DimValues& dims,
                        std::uint64_t seed) {
  RLDB_TRY(std::vector<std::int64_t> shape, concrete(t->shape, dims));
  RLDB_TRY(Value made, runtime::random_tensor(std::move(shape), t->dtype, seed));
  const runtime::Tensor& out = made.as_tensor();
  if (!t->dtype.is_float() || t->dtype.lanes != 1 || numbers.empty()) return made;
  for (std::int64_t i = 0; i < out.element_count(); ++i) {
    const double sum = out.at(i) + numbers[std::size_t(i) % numbers.size()];
    runtime::store_double(out.data() + std::size_t(i) * out.dtype().bytes(), out.dtype(), sum / 2);
  }
  return made;
}

Result<Value> value_of(const ir::Type* type, const std::vector<double>& numbers, const DimValues& dims,
                       std::uint64_t seed) {
  if (const auto* t = as<ir::TensorType>(type)) return tensor_of(t, numbers, dims, seed);
  if (const auto* t = as<ir::ShapeType>(type)) {
    RLDB_TRY(std::vector<std::int64_t> shape, concrete(t->values, dims));
    return Value::of_shape(std::move(shape));
  }
  if (const auto* t = as<ir::TupleType>(type)) {
    std::vector<Value> fields;
    for (const ir::Type* f : t->fields) {
      RLDB_TRY(Value field, value_of(f, numbers, dims, seed * 31 + fields.size() + 1));
      fields.push_back(std::move(field));
    }
    return Value::of_tuple(std::move(fields));
  }
  const auto* prim = as<ir::PrimType>(type);
  if (prim->dtype.is_float()) return Value::of_float(numbers.empty() ? 1.0 : numbers[0]);
  return prim->dtype.is_bool() ? Value::of_bool(true) : Value::of_int(1);
}

}  // namespace

std::optional<Value> made_up_function(const ir::FuncType* type, DimValues dims, std::uint64_t seed) {
  if (type->opaque || !is_told(type->ret)) return std::nullopt;
  const auto run = [type, dims = std::move(dims), seed](runtime::PackedArgs args) -> Result<Value> {
    if (args.size() != type->params.size())
      return fail(ErrorKind::ArgumentCount,
                  fmt::format("the function takes {}, {} given", support::counted(type->params.size(), "argument"),
                              args.size()));
    DimValues here = dims;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < args.size(); ++i) {
      learn(type->params[i], args[i], here);
      numbers_of(args[i], numbers);
    }
    return value_of(type->ret, numbers, here, seed);
  };
  return Value(support::make_ref<runtime::Function>("made up", runtime::PackedFn(run)));
}

}  // namespace rldb::session
