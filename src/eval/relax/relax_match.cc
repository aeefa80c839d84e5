// RelaxEval: values checked against types, which binds symbolic variables.
#include <fmt/format.h>

#include "eval/relax/relax_eval.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::eval {

Result<Unit> RelaxEval::match(const ir::Type* type, const Value& value, Scope& scope, const std::string& who,
                              bool compound) {
  if (const auto* t = as<ir::TensorType>(type)) return match_tensor(t, value, scope, who, compound);
  if (const auto* t = as<ir::ShapeType>(type)) {
    if (!value.is(ValueKind::Shape)) return wrong(who, type, value);
    if (t->ndim != ir::kUnknownNdim && std::size_t(t->ndim) != value.as_shape().size()) return wrong(who, type, value);
    return t->has_values ? match_dims(t->values, value.as_shape(), scope, who, compound) : Result<Unit>(Unit{});
  }
  if (const auto* t = as<ir::TupleType>(type)) {
    if (t->fields.empty()) return Unit{};
    if (!value.is(ValueKind::Tuple) || value.as_tuple().fields.size() != t->fields.size())
      return wrong(who, type, value);
    for (std::size_t i = 0; i < t->fields.size(); ++i)
      RLDB_TRY_VOID(
          match(t->fields[i], value.as_tuple().fields[i], scope, fmt::format("{}, field {}", who, i), compound));
    return Unit{};
  }
  if (as<ir::PrimType>(type) && !value.is(ValueKind::Int) && !value.is(ValueKind::Bool) && !value.is(ValueKind::Float))
    return wrong(who, type, value);
  if (as<ir::FuncType>(type) && !value.is(ValueKind::Function)) return wrong(who, type, value);
  return Unit{};
}

Result<Unit> RelaxEval::match_tensor(const ir::TensorType* t, const Value& value, Scope& scope, const std::string& who,
                                     bool compound) {
  if (!value.is(ValueKind::Tensor)) return wrong(who, t, value);
  const runtime::Tensor& tensor = value.as_tensor();
  if (!t->dtype.is_void() && t->dtype != tensor.dtype()) return wrong(who, t, value);
  if (t->ndim != ir::kUnknownNdim && t->ndim != tensor.ndim()) return wrong(who, t, value);
  return t->has_shape ? match_dims(t->shape, tensor.shape(), scope, who, compound) : Result<Unit>(Unit{});
}

Result<Unit> RelaxEval::match_shape_var(const ir::Binding* b, const Value& value, Scope& scope) {
  const auto* t = as<ir::TensorType>(b->cast_type);
  if (!t || !t->shape_var) return Unit{};
  const auto* known = as<ir::TensorType>(b->value->type);
  const auto* s = as<ir::ShapeType>(t->shape_var->type);
  const bool ranked =
      t->ndim != ir::kUnknownNdim || (s && s->ndim != ir::kUnknownNdim) || (known && known->ndim != ir::kUnknownNdim);
  if (!ranked) return Unit{};
  RLDB_TRY(const Value shape, eval(t->shape_var, scope));
  if (!shape.is(ValueKind::Shape) || shape.as_shape() == value.as_tensor().shape()) return Unit{};
  return fail(ErrorKind::ShapeMismatch,
              fmt::format("match_cast of `{}`: `{}` is {} but the value is {}", b->var->name,
                          ir::print_expr(t->shape_var), runtime::describe(shape), runtime::describe(value)));
}

Result<Unit> RelaxEval::match_dims(ir::Span<const ir::Expr*> dims, const std::vector<std::int64_t>& got, Scope& scope,
                                   const std::string& who, bool compound) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto* v = as<ir::Var>(dims[i]);
    if (v && !scope.symbols.contains(v) && !scope.values.contains(v)) {
      scope.symbols[v] = {got[i], fmt::format("{}, dimension {}", who, i)};
      continue;
    }
    if (!v && !compound && !as<ir::IntImm>(dims[i])) continue;
    RLDB_TRY(const Value known, scalar(dims[i], scope));
    if (known.as_int() == got[i]) continue;
    runtime::Error error{ErrorKind::ShapeMismatch, {}, {}};
    error.message = fmt::format("{}, dimension {}: `{}` is {} but the value has {}", who, i, ir::print_expr(dims[i]),
                                known.as_int(), got[i]);
    std::vector<const ir::Var*> vars;
    ir::collect_vars(dims[i], vars);
    for (const ir::Var* used : vars)
      if (const auto it = scope.symbols.find(used); it != scope.symbols.end())
        error.notes.push_back(fmt::format("`{}` = {}, bound by {}", used->name, it->second.value, it->second.bound_by));
    return support::Failure(std::move(error));
  }
  return Unit{};
}

Result<Unit> RelaxEval::wrong(const std::string& who, const ir::Type* type, const Value& value) {
  return fail(ErrorKind::TypeMismatch,
              fmt::format("{}: expected {}, but got {}", who, ir::print_type(type), runtime::describe(value)));
}

}  // namespace rldb::eval
