// Recognises positions that were taken apart by dimensions.
#include "schedule/position.h"

#include "rldb/ir/equal.h"

namespace rldb::schedule {

using ir::as;
using ir::BinaryKind;

const ir::Expr* position_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) {
  const ir::Expr* whole = nullptr;  // the position
  const ir::Expr* left = nullptr;   // its quotient by the dimensions so far
  for (std::size_t i = indices.size(); i-- > 0;) {
    if (i == 0) return !left || ir::expr_equal(indices[0], left) ? (whole ? whole : indices[0]) : nullptr;
    const auto* rest = as<ir::BinaryExpr>(indices[i]);
    if (!rest || rest->kind != BinaryKind::FloorMod || !ir::expr_equal(rest->b, b->shape[i])) return nullptr;
    if (left && !ir::expr_equal(rest->a, left)) return nullptr;
    whole = whole ? whole : rest->a;
    // The next index is, or divides, the quotient of what this one is the remainder of.
    const auto* next = as<ir::BinaryExpr>(indices[i - 1]);
    const auto* quotient = next && i > 1 ? as<ir::BinaryExpr>(next->a) : next;
    if (!quotient || quotient->kind != BinaryKind::FloorDiv || !ir::expr_equal(quotient->a, rest->a) ||
        !ir::expr_equal(quotient->b, b->shape[i]))
      return nullptr;
    left = quotient;
  }
  return nullptr;
}

}  // namespace rldb::schedule
