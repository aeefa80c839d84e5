// The options of each of Relay's passes as a struct, made from pass_option.def. Users: the passes, session.
#pragma once

#include "rldb/pipeline/option.h"

namespace rldb::relay {
#define RLDB_OPTION_TABLE "rldb/relay/passes/pass_option.def"
#include "rldb/pipeline/option_structs.def"
}  // namespace rldb::relay
