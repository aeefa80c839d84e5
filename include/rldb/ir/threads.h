// GPU threads in TensorIR: statements below which every thread runs (thread-bound loops, T.launch_thread), and how
// threads interact: barriers and exchanges. Users: passes over TensorIR, eval, the JIT, debug.
#pragma once

#include <string_view>

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/stmt.h"

namespace rldb::ir {

// "threadIdx.x" of a thread-bound loop, of `thread_extent` and `virtual_thread`; empty for every other statement.
std::string_view thread_tag(const Stmt* s);
// How the threads that call an intrinsic synchronise there.
enum class Meeting : std::uint8_t { None, Barrier, Shuffle, ActiveMask, AllReduce };
Meeting meeting_of(Intrinsic id);
Meeting meeting_of(const Expr* e);  // None for everything but a call

// A flat view of shared memory may be indexed up to the end of that memory, beyond its own extent: the parts of merged
// allocations are declared that way, each with the offset in its indices.
bool spans_memory(const DeclBuffer* d);

// The key of the T.attr around a T.tvm_thread_allreduce, whose node is the reducer.
inline constexpr std::string_view kReduceScope = "reduce_scope";

// Whether a barrier or an exchange is below: running the threads one after another would not give the values of threads
// that run together.
bool has_barrier(const Node* n);
// Whether a barrier is below threads: such a kernel cannot be run as loops over its threads.
bool threads_wait(const Stmt* body);

}  // namespace rldb::ir
