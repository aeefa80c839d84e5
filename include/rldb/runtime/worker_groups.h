// The size of the groups into which the workers are divided, for questions about collectives of a group.
#pragma once

#include <cstdint>

namespace rldb::runtime {

// 0: not known.
std::int64_t workers_in_group();
void set_workers_in_group(std::int64_t count);

}  // namespace rldb::runtime
