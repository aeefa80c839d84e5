#include "ops/legal/util.h"

#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_type.h"

namespace rldb::ops::legal {

Result<const Expr*> none(Legalizer&, const ir::Call*) { RLDB_UNREACHABLE("an operator without a body"); }

support::Failure<source::Message> refuse(const ir::Call* c, std::string why) {
  const OpInfo* info = find(c->callee);
  return support::Failure(source::message(diag::OpNotLegalizable, info->name, why));
}

Result<const TensorType*> known_result(const ir::Call* c) {
  const auto* t = ir::as<TensorType>(c->type);
  if (t && t->has_shape && !t->dtype.is_void()) return t;
  return refuse(c, "the shape or dtype of the result is not known: `" + ir::print_type(c->type) + "`");
}

Result<const TensorType*> known_arg(const ir::Call* c, std::size_t i) {
  const auto* t = ir::as<TensorType>(c->args[i]->type);
  if (t && t->has_shape && !t->dtype.is_void()) return t;
  return refuse(c, "the shape or dtype of argument " + std::to_string(i) + " is not known: `" +
                       ir::print_type(c->args[i]->type) + "`");
}

ExprList mapped(Te& te, std::span<const Expr* const> dims) {
  ExprList out;
  for (const Expr* d : dims) out.push_back(te.map(d));
  return out;
}

int axis_of(std::int64_t axis, int ndim) { return int(axis < 0 ? axis + ndim : axis); }
std::vector<int> axes_of(const std::vector<std::int64_t>& axes, int ndim) {
  std::vector<int> out;
  for (std::int64_t a : axes) out.push_back(axis_of(a, ndim));
  return out;
}

const Expr* scalar_constant(ir::Context& ctx, const Expr* e) {
  const auto* c = ir::as<ir::Constant>(e);
  if (!c) return nullptr;
  const auto* t = tensor_type(e);
  if (!t || t->ndim != 0 || c->value->kind() != runtime::ValueKind::Tensor) return nullptr;
  const runtime::Tensor& tensor = c->value->as_tensor();
  if (t->dtype.is_float()) return ctx.float_imm(t->dtype, tensor.at(0));
  return ctx.int_imm(t->dtype, runtime::load_as_int(tensor.data(), t->dtype));
}

}  // namespace rldb::ops::legal
