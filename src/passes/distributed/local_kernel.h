// A kernel over whole tensors as the kernel that one worker runs on its parts of them.
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
  std::string reduction;                   // what joins the results of the workers: "sum", ...; empty: nothing
};

// One sharding for each parameter that is a buffer. What the shardings say of the loops has to fit together; a loop
// that is divided is used in indices only, where it counts the parts of a dim. A failure names what does not fit.
ir::Result<LocalKernel> local_kernel(ir::Context& ctx, std::string_view name, const ir::PrimFunc* f,
                                     const std::vector<Sharding>& shardings);

}  // namespace rldb::passes
