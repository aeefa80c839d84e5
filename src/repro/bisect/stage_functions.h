// Facts about the functions of a stage's module, which decide how it is run. Room-private.
#pragma once

#include <string>
#include <vector>

#include "rldb/ir/module.h"

namespace rldb::repro {

// Names of Relax functions, the entry function first: public ones; if a module has none, all.
std::vector<std::string> functions_of(const ir::Module* module);
bool find_public(const ir::Module* module, const std::string& name);
// Parameters that accept tensors of more than one shape.
bool has_open_dims(const ir::Module* module);
// Kernels whose loops depend on values that they read: with arbitrary integers such a kernel might not terminate.
bool has_loops_by_data(const ir::Module* module);

}  // namespace rldb::repro
