// Construction of `if`s.
#pragma once

#include "relay/to_relax/translator.h"
#include "rldb/ir/type_relation.h"

namespace rldb::to_relax {

// Variables used but not bound in `e`, in creation order.
std::vector<const relay::Var*> free_variables(const relay::Expr* e);

// Variables bound in branches are not visible after them: the types lose them.
template <class Then, class Else>
const ir::Expr* FunctionTranslator::branches(const ir::Expr* condition, Then&& consequence, Else&& alternative) {
  const std::uint32_t before = ctx_.node_count();
  const ir::SeqExpr* yes = branch(consequence);
  const ir::SeqExpr* no = branch(alternative);
  if (!yes || !no) return nullptr;
  const auto visible = [&](const ir::Var* v) { return v->id <= before; };
  const ir::Type* type =
      ir::join(ctx_, ir::erase(ctx_, yes->body->type, visible), ir::erase(ctx_, no->body->type, visible));
  return blocks_.emit(ctx_.if_expr(condition, yes, no, type), "gv");
}

}  // namespace rldb::to_relax
