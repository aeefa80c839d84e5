// Kernels that may be passed the same tensor for what they read and for what they write. Room-private.
#pragma once

#include <cstddef>

#include "rldb/ir/context.h"

namespace rldb::repro {

// The kernel writes each element of the parameter `written` once, and reads from the parameter `read` only the element
// that the same statement writes: one tensor for both gives what two equal ones give. False where that is not seen.
bool reads_what_it_writes(const ir::PrimFunc* f, std::size_t read, std::size_t written);

}  // namespace rldb::repro
