// When a packed function is called: for functions that are told apart by the moment of the run when they are called.
#pragma once

#include <cstdint>

namespace rldb::vm {

// The number of instructions completed by the machine that last called a packed function, on this thread. To be read at
// the beginning of a function: whatever it calls may run machines of its own.
std::uint64_t call_time();

}  // namespace rldb::vm
