// Operands of a call of Relay: tuples, constants, axes.
#include "relay/to_relax/op_call.h"

#include "rldb/relay/ir/field.h"

namespace rldb::to_relax {

ir::Result<Exprs> OpCall::fields(std::size_t i) {
  if (const auto* tuple = ir::as<ir::Tuple>(args[i])) return Exprs(tuple->items.begin(), tuple->items.end());
  const auto* type = ir::as<ir::TupleType>(args[i]->type);
  if (!type) return refuse("an operand is not known to be a tuple");
  Exprs items;
  for (std::size_t f = 0; f < type->fields.size(); ++f) {
    RLDB_TRY(const ir::TupleGetItem* item, ctx.tuple_get(args[i], std::int64_t(f)));
    items.push_back(blocks.emit(item));
  }
  return items;
}

const runtime::Tensor* OpCall::constant(std::size_t i) const {
  const auto* c = i < args.size() ? ir::as<ir::Constant>(args[i]) : nullptr;
  return c ? &c->value->as_tensor() : nullptr;
}

std::optional<double> OpCall::number(std::size_t i) const {
  const runtime::Tensor* t = constant(i);
  return t && t->element_count() == 1 ? std::optional(t->at(0)) : std::nullopt;
}

std::optional<Ints> OpCall::constant_ints(std::size_t i) const {
  const runtime::Tensor* t = constant(i);
  if (!t || t->ndim() > 1 || !t->dtype().is_integral()) return std::nullopt;
  Ints values;
  for (std::int64_t k = 0; k < t->element_count(); ++k) values.push_back(std::int64_t(t->at(k)));
  return values;
}

ir::Result<std::size_t> OpCall::axis_or_flat(const Expr*& x, const Dims& dims) {
  if (const auto given = integer(relay::field::Axis)) return axis(*given, dims.size());
  RLDB_TRY(x, reshape(x, {ir::product(ctx, dims)}));
  return std::size_t(0);
}

}  // namespace rldb::to_relax
