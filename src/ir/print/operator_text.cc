#include "rldb/ir/operator_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"

namespace rldb::ir {

std::string operand_name(std::size_t i) { return fmt::format("operand_{}_", i); }

std::string operator_text(Context& ctx, const Call* call) {
  std::vector<const Expr*> operands;
  for (std::size_t i = 0; i < call->args.size(); ++i) operands.push_back(ctx.var(operand_name(i), call->args[i]->type));
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
