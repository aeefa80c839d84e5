// The functions that the rows of pass.def name. A pass that runs another one includes this; the others need not, so
// that a new row builds few files again.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

#define RLDB_PASS(Name, Fn, Kind, Options, Doc) \
  ir::Result<const ir::Module*> Fn(PassEnv& env, const ir::Module* module, const PassOptions& options);
#include "rldb/passes/pass.def"

}  // namespace rldb::passes
