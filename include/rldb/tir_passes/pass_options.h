// The options of each pass over TensorIR as a struct, made from pass_option.def. Users: the passes that have options.
#pragma once

#include "rldb/pipeline/option.h"

namespace rldb::passes {
#define RLDB_OPTION_TABLE "rldb/tir_passes/pass_option.def"
#include "rldb/pipeline/option_structs.def"
}  // namespace rldb::passes
