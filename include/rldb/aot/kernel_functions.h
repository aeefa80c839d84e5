// Modules of PrimFuncs alone: a library exports functions of the Relax VM, so each public kernel gets one that calls it
// on its parameters, as TVM's libraries export such kernels. Users: ui/batch.
#pragma once

#include "rldb/ir/context.h"

namespace rldb::aot {

// Each kernel is private there, under another name. `results`: its function returns the tensors that the kernel writes
// to, for whoever has no memory of its own to look at. The module itself if it has other functions, or if its kernels
// call one another.
const ir::Module* with_kernel_functions(ir::Context& ctx, const ir::Module* module, bool results);

}  // namespace rldb::aot
