// Threads of a GPU in TensorIR: statements below which every thread runs (thread-bound loops, T.launch_thread) and what
// lets threads see each other. Users: passes over TensorIR, eval, the JIT, debug.
#pragma once

#include <string_view>

#include "rldb/ir/stmt.h"

namespace rldb::ir {

// "threadIdx.x" of a thread-bound loop, of `thread_extent` and `virtual_thread`; empty for every other statement.
std::string_view thread_tag(const Stmt* s);
// A barrier is below: one thread after another would not give the values that threads give which run together.
bool has_barrier(const Node* n);
// A barrier stands below threads: such a kernel cannot be run as loops over its threads.
bool threads_wait(const Stmt* body);

}  // namespace rldb::ir
