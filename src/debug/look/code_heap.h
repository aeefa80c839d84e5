// The shape heap of a frame whose function has no debug info. Room-private.
#pragma once

#include <vector>

#include "rldb/debug/debugger.h"
#include "rldb/vm/machine.h"

namespace rldb::debug {

// Its slots, as far as the instructions before the frame's position tell. Empty: the function has no shape heap.
std::vector<SlotInfo> slots_by_code(const vm::Machine& m, std::size_t frame);

}  // namespace rldb::debug
