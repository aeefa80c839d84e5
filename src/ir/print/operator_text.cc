#include "rldb/ir/operator_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/ir/scalar.h"

namespace rldb::ir {

std::string operand_name(std::size_t i) { return fmt::format("operand_{}_", i); }

// A scalar at run time is an int64, a float64 or a bool: one of another dtype is written as a literal or converted.
static const Expr* operand(Context& ctx, const Expr* arg, std::size_t i) {
  const auto* prim = as<PrimType>(arg->type);
  const bool converted = prim && !prim->dtype.is_handle() && !prim->dtype.is_bool() && !prim->dtype.is_void() &&
                         prim->dtype != DType::Int(64) && prim->dtype != DType::Float(64);
  if (!converted) return ctx.var(operand_name(i), arg->type);
  if (isa<IntImm>(arg) || isa<FloatImm>(arg)) return arg;
  const DType at_run_time = prim->dtype.is_float() ? DType::Float(64) : DType::Int(64);
  return cast_to(ctx, prim->dtype, ctx.var(operand_name(i), ctx.prim(at_run_time)));
}

std::string operator_text(Context& ctx, const Call* call) {
  std::vector<const Expr*> operands;
  for (std::size_t i = 0; i < call->args.size(); ++i) operands.push_back(operand(ctx, call->args[i], i));
  return print_expr(ctx.call_typed(call->callee, operands, call->type, call->attrs, call->ty_args));
}

namespace {

bool is_open(const Type* t) {
  if (const auto* tensor = as<TensorType>(t)) return !tensor->has_shape || tensor->dtype.is_void();
  if (const auto* shape = as<ShapeType>(t)) return !shape->has_values;
  if (const auto* tuple = as<TupleType>(t)) return std::any_of(tuple->fields.begin(), tuple->fields.end(), is_open);
  return t->kind == TypeKind::Any;
}

}  // namespace

bool has_open_type(const Call* call) {
  return is_open(call->type) || std::any_of(call->args.begin(), call->args.end(), [](const Expr* a) {
           return !isa<StringImm>(a) && !isa<DTypeImm>(a) && is_open(a->type);
         });
}

}  // namespace rldb::ir
