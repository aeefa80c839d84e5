// Have a function's shapes been lowered already? A file written after VMShapeLower has its own heap and checks;
// lowering it again would add a second heap, whose slots no reader of the text knows. Users: vm_shape_lower.cc,
// kill_after_last_use.cc.
#pragma once

#include "rldb/ir/expr.h"

namespace rldb::passes {

bool is_shape_lowered(const ir::Function* f);
// Is it the call that creates a heap?
bool makes_shape_heap(const ir::Expr* value);

}  // namespace rldb::passes
