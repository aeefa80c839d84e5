// Shared by the legalisation functions.
#pragma once

#include "ops/legal/topi.h"
#include "rldb/ops/legalize.h"
#include "rldb/ops/op_info.h"

namespace rldb::ops::legal {

using te::Indices;
using topi::ExprList;
using topi::Tensor;
using topi::Topi;
using Te = Legalizer::Te;
using Tensors = std::vector<Tensor>;

inline ir::CallSpec spec(const ir::Call* c) { return {c->callee, c->args, c->attrs, c->ty_args}; }
inline std::string_view op_name(const ir::Call* c) {
  const OpInfo* info = find(c->callee);
  std::string_view n = info->short_name();
  return n.starts_with("nn.") ? n.substr(3) : n;
}
inline const TensorType* tensor_type(const Expr* e) { return ir::as<TensorType>(e->type); }
support::Failure<source::Message> refuse(const ir::Call* c, std::string why);
// The type of the call, when it is a tensor of known shape; a failure otherwise.
Result<const TensorType*> known_result(const ir::Call* c);
Result<const TensorType*> known_arg(const ir::Call* c, std::size_t i);
ExprList mapped(Te& te, std::span<const Expr* const> dims);
int axis_of(std::int64_t axis, int ndim);
std::vector<int> axes_of(const std::vector<std::int64_t>& axes, int ndim);
// The value of a 0-d constant, as a literal of its dtype; null for anything else.
const Expr* scalar_constant(ir::Context& ctx, const Expr* e);
// softmax or its logarithm along an axis.
Tensor softmax_of(Topi& t, Tensor x, int axis, bool log);

}  // namespace rldb::ops::legal
