// Functions named by the rows of pass.def: the room's door for the pass table (room passes) and for passes that run
// another.
#pragma once

#include "rldb/tir_passes/pass_env.h"
#include "rldb/tir_passes/pass_options.h"

namespace rldb::passes {

#define RLDB_PASS(Name, Fn, Kind, Options, Doc) \
  ir::Result<const ir::Module*> Fn(PassEnv& env, const ir::Module* module, const Options& options);
#include "rldb/tir_passes/pass.def"

}  // namespace rldb::passes
