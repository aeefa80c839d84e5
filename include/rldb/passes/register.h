// Passes of a program that builds on rldb: run by name, listed and completed like the rows of pass.def.
#pragma once

#include "rldb/passes/pass.h"

namespace rldb::passes {

// The texts are not copied, so they must live as long as the program; `id` is filled in. A name that is taken
// fails a CHECK, and so does the hundredth pass. Not thread-safe.
const PassInfo& register_pass(PassInfo pass);

}  // namespace rldb::passes
