// LargeStack: where work goes that nests as deep as the user's program does.
//
// The evaluator keeps C++ frames per Relax call, and recursion is how Relax writes loops: 8 MiB, which is what the
// main thread has, ends at some hundred calls. The work runs on a thread whose stack is reserved and takes memory as
// far as it is used; the caller waits. What the work throws is thrown to the caller. Thread-local state of the caller
// (memory exemptions, injected faults) does not go with it.
#pragma once

#include <cstddef>
#include <functional>

namespace rldb::support {

// Runs `work` with a stack of `bytes`; on the caller's stack when the system has no such stack to give.
void run_on_large_stack(std::size_t bytes, const std::function<void()>& work);

// Bytes between here and the end of this thread's stack.
std::size_t stack_left();

}  // namespace rldb::support
