#include "rldb/ir/empty_nest.h"

#include <algorithm>

#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {

namespace {

bool divides(const BinaryExpr* e) {
  return e->kind == BinaryKind::Div || e->kind == BinaryKind::Mod || e->kind == BinaryKind::FloorDiv ||
         e->kind == BinaryKind::FloorMod;
}

// Whether an extent has the same value before the loops of `vars`, and computing it there is harmless.
bool is_known_before(const Expr* e, const std::vector<const Var*>& vars) {
  bool known = true;
  walk(e, [&](const Node* n) {
    if (const auto* v = as<Var>(n)) known = known && std::find(vars.begin(), vars.end(), v) == vars.end();
    const auto* b = as<BinaryExpr>(n);
    if (b && divides(b)) known = known && const_int(b->b).value_or(0) > 0;
    known = known && (b || isa<Var>(n) || isa<IntImm>(n) || isa<CastExpr>(n));
    const auto* c = as<CastExpr>(n);
    if (c) known = known && !c->value->dtype().is_float();
    return known;
  });
  return known;
}

}  // namespace

std::vector<const Expr*> extents_within(const ForStmt* loop) {
  std::vector<const Expr*> out;
  std::vector<const Var*> vars;
  while (loop->for_kind != ForKind::ThreadBinding && !loop->step) {
    vars.push_back(loop->var);
    loop = as<ForStmt>(loop->body);
    if (!loop || loop->for_kind == ForKind::ThreadBinding) break;
    const auto n = const_int(loop->extent);
    if (n ? *n <= 0 : is_known_before(loop->extent, vars)) out.push_back(loop->extent);
  }
  return out;
}

}  // namespace rldb::ir
