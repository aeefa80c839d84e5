// Kernels that a module launches on a device by their symbols, as SplitHostDevice leaves them. Users: session, repro.
#pragma once

#include <map>
#include <string_view>

#include "rldb/ir/module.h"

namespace rldb::ir {

// The function that a call of a packed function calls, lowered or not; empty: it is no such call.
std::string_view packed_callee(const Node* n);
// Whether a PrimFunc is launched: called by its symbol, with the launch sizes behind its arguments.
bool is_launched(const PrimFunc* f);

using LaunchedKernels = std::map<std::string_view, std::string_view>;  // name in the module, by symbol
LaunchedKernels launched_kernels(const Module* module);

}  // namespace rldb::ir
