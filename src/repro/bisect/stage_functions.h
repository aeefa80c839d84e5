// Facts about the functions of stages, which decide how they are run. Room-private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rldb/ir/module.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

// Names of Relax functions, the entry function first: public ones; if a module has none, all.
std::vector<std::string> functions_of(const ir::Module* module);
bool find_public(const ir::Module* module, const std::string& name);
// Parameters that accept tensors of more than one shape.
bool has_open_dims(const ir::Module* module);
// Kernels whose loops depend on values that they read: with arbitrary integers such a kernel might not terminate.
bool has_loops_by_data(const ir::Module* module);
// A Relax function that names this function or kernel.
bool calls_function(const ir::Expr* function, std::string_view name);
// All stages are read, and each is the same as the one before it: that needs no run.
bool are_all_the_same(const std::vector<Stage>& stages);
// Of such stages: whether a function that is not there, inputs that did not fit (or were not used), or expected values
// that nothing was compared with leave the question open.
bool asks_for_a_run(const TraceBisection& b, const Followed& what, bool inputs_fit);

}  // namespace rldb::repro
