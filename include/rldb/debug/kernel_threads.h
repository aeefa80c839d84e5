// The threads of a GPU kernel that is being stepped: those of the present block, where each is, and which of them
// questions are about. User: `:threads`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct KernelThread {
  std::string name;        // `threadIdx.x = 3`
  std::string_view state;  // `runs`, `waits` (for others), `done`, `not begun`
  std::uint32_t line = 0;  // of the kernel's text; 0: none
  std::string statement;   // that it runs next, or waits at
  bool chosen = false;     // questions are about it
};
// Empty: no kernel is being stepped, or its threads do not take turns (they have no barriers: then they are loops).
std::vector<KernelThread> kernel_threads(const Debugger& debugger);
// Questions are about this thread until the next step. False: it is none of them, has not begun, or is done.
bool look_at_thread(Debugger& debugger, std::size_t thread);

}  // namespace rldb::debug
