// Functions named by the rows of pass.def. Passes that run another pass include this; the others need not, so that a
// new row causes few files to be rebuilt.
#pragma once

#include "rldb/passes/pass.h"
#include "rldb/passes/pass_options.h"

namespace rldb::passes {

#define RLDB_PASS(Name, Fn, Kind, Options, Doc) \
  ir::Result<const ir::Module*> Fn(PassEnv& env, const ir::Module* module, const Options& options);
#include "rldb/passes/pass.def"

}  // namespace rldb::passes
