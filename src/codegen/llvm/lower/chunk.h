// How often a loop checks the interrupt. Internal to the room.
#pragma once

#include <cstdint>

#include "rldb/ir/stmt.h"

namespace rldb::codegen {

// The number of iterations between checks; 0: never.
std::int64_t chunk_of(const ir::ForStmt* loop);

}  // namespace rldb::codegen
