// LargeStack: runs work that nests as deep as the user's program does.
//
// The evaluator keeps C++ frames per Relax call, and recursion is how Relax writes loops: the main thread's 8 MiB
// are exhausted after some hundred calls. The work runs on a thread whose stack is reserved and takes memory only as
// it is used; the caller waits. An exception of the work is rethrown to the caller. Thread-local state of the caller
// (memory exemptions, injected faults) is not passed on.
#pragma once

#include <cstddef>
#include <functional>

namespace rldb::support {

// Runs `work` with a stack of `bytes`; on the caller's stack if the system cannot provide one.
void run_on_large_stack(std::size_t bytes, const std::function<void()>& work);

// Bytes between here and the end of this thread's stack.
std::size_t stack_left();

}  // namespace rldb::support
