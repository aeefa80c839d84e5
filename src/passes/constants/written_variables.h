// Variables whose memory a call writes.
#pragma once

#include <unordered_set>

#include "rldb/ir/module.h"

namespace rldb::passes {

// Arguments that a call may write in place, and what they are other names of. A constant in their place would be
// changed by the first run.
std::unordered_set<const ir::Var*> written_variables(const ir::Module* module, const ir::Function* f);

}  // namespace rldb::passes
