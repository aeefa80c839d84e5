// Calls of kernels from code of another device, which become calls by name with the sizes of the launch behind the
// arguments: what SplitHostDevice ends with.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

ir::Result<const ir::Module*> lower_device_launches(PassEnv& env, const ir::Module* module);

}  // namespace rldb::passes
