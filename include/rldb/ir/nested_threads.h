// Statements of GPU threads inside of each other: which of them are one thread. Users: eval, the JIT.
#pragma once

#include "rldb/ir/stmt.h"

namespace rldb::ir {

// The variable of a loop or launch of threads.
const Var* thread_var(const Stmt* s);
// Of a loop or launch inside of another one with the same tag: whether what it does depends on the outer one's thread.
// Then the two are one, as on a device. Else each outer thread may do the work of all: threads that fill memory which
// they share, where no barrier is yet.
bool needs_outer_thread(const Stmt* outer, const Stmt* inner);

}  // namespace rldb::ir
