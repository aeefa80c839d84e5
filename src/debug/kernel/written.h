// Which of its parameters a kernel writes, directly or through match_buffer. Users: catchpoints, costs.
#pragma once

#include <vector>

#include "rldb/ir/expr.h"

namespace rldb::debug {

std::vector<bool> written_parameters(const ir::PrimFunc* f);

}  // namespace rldb::debug
