// Threads: the pieces of one piece of work (a loop of a kernel), done by the threads of a pool and by the caller.
//
// Which thread does a piece, and when, is open, so pieces may not depend on each other; pieces are begun in ascending
// order. The pool is one per process and starts when it is first needed; its threads wait for the next work a few
// microseconds awake, then asleep. They take no signals but those that their own code raises. A child of fork() has
// no pool: it does all pieces itself. User: codegen/llvm.
#pragma once

#include <cstddef>

namespace rldb::runtime {

constexpr std::size_t kMostThreads = 256;

// How many threads work at once, the caller included: the CPUs that this process may use, unless it is set.
std::size_t thread_count();
// At most kMostThreads; 0: the default again.
void set_thread_count(std::size_t n);
// As it was set; 0: it was not.
std::size_t chosen_thread_count();

using PieceFn = void (*)(void* context, std::size_t piece);

// Whether `do_pieces` would use other threads now: not inside of a piece, and not while another caller has the pool.
bool may_use_threads();
// Calls piece(context, i) for each i below `count`, and returns when all have ended. The function must not throw.
void do_pieces(std::size_t count, PieceFn piece, void* context);

}  // namespace rldb::runtime
