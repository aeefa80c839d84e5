// Calls of kernels from code of another device, which become calls by name with the launch sizes appended to the
// arguments: the last step of SplitHostDevice.
#pragma once

#include "rldb/tir_passes/pass_env.h"

namespace rldb::passes {

ir::Result<const ir::Module*> lower_device_launches(PassEnv& env, const ir::Module* module);

}  // namespace rldb::passes
