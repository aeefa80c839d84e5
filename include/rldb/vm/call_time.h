// When a packed function is called: for functions that are told apart by the moment of the run that they are called in.
#pragma once

#include <cstdint>

namespace rldb::vm {

// The instructions that the machine had completed which called a packed function last, on this thread. A function asks
// at its beginning: what it calls may run machines of its own.
std::uint64_t call_time();

}  // namespace rldb::vm
