// Pieces: ranges of a parallel loop's iterations, run by the threads of the pool (rldb/runtime/threads.h). Internal to
// the room.
#pragma once

#include <cstdint>

#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// The code of a loop: iterations [begin, end), with the values from outside that it uses. Nonzero: it stopped.
using PartFn = std::int32_t (*)(const void* captures, std::int64_t begin, std::int64_t end,
                                runtime::KernelFault* fault);

inline constexpr const char* kPiecesHelper = "rldb_run_pieces";
// All iterations, in pieces of at least `grain`. If pieces stop, the result is that of the first of them in the order
// of the loop, as on one thread: pieces are begun in that order, and those before one that stopped are finished.
std::int32_t run_pieces(PartFn part, const void* captures, std::int64_t begin, std::int64_t end, std::int64_t grain,
                        runtime::KernelFault* fault);

}  // namespace rldb::codegen
