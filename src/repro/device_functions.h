// Programs that call the runtime of a device which rldb does not have. Room-private.
#pragma once

#include "rldb/session/session.h"

namespace rldb::repro {

// It calls packed functions that nobody here has, and each of them belongs to the runtime of a device
// (bytecode/device_function.def) or is in an external module of the program. A misspelt or invented function makes this
// false.
bool needs_a_device(session::Session& session, const ir::Module* module);

}  // namespace rldb::repro
