// Rules about minima, maxima and common factors, which a canonical sum does not show: TVM's simplifier applies them
// between two passes of the canonical form, and texts are compared with what it writes.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::ir::arith {

// `e` in canonical text form; the same node if no rule applies. The result is to be made canonical again.
const Expr* apply_text_rules(Context& ctx, const Expr* e);

}  // namespace rldb::ir::arith
