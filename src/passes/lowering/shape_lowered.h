// Have a function's shapes been lowered already? A file that was written after VMShapeLower has heap and checks of its
// own; lowered again, it would get a second heap, whose slots nobody who reads the text knows. Users:
// vm_shape_lower.cc, kill_after_last_use.cc.
#pragma once

#include "rldb/ir/expr.h"

namespace rldb::passes {

bool is_shape_lowered(const ir::Function* f);
// Is it the call that makes a heap?
bool makes_shape_heap(const ir::Expr* value);

}  // namespace rldb::passes
