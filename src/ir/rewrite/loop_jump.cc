#include "rldb/ir/loop_jump.h"

#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/walk.h"

namespace rldb::ir {

bool jumps(const Stmt* body) {
  bool found = false;
  walk(body, [&](const Node* n) {
    if (isa<ForStmt>(n) || isa<WhileStmt>(n)) return false;
    const auto* e = as<Expr>(n);
    found = found || (e && (is_call_of(e, intrin::BreakLoop) || is_call_of(e, intrin::ContinueLoop)));
    return !found;
  });
  return found;
}

}  // namespace rldb::ir
