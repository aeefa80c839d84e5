// Turns a kernel over whole tensors into the kernel that one worker runs on its parts of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "passes/common.h"

namespace rldb::passes {

// How a buffer parameter is divided: one of its dims into equal parts, or not at all.
struct Sharding {
  std::optional<std::size_t> dim;
  std::int64_t parts = 1;
};

struct LocalKernel {
  const ir::PrimFunc* function = nullptr;  // the same pointer when nothing is divided
  std::string reduction;                   // how the workers' results are combined: "sum", ...; empty: not at all
};

// One sharding for each buffer parameter. The shardings must agree on how the loops are divided; a divided loop is used
// in indices only, where it counts the parts of a dim. A failure names the conflict.
ir::Result<LocalKernel> local_kernel(ir::Context& ctx, std::string_view name, const ir::PrimFunc* f,
                                     const std::vector<Sharding>& shardings);

}  // namespace rldb::passes
