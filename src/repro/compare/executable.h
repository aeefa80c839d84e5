// Runs of executables written down. Room-private.
#pragma once

#include "rldb/repro/compare.h"

namespace rldb::repro {

// On the machine, instruction by instruction; variables have the names that the debug information gives them.
Trace record_executable(session::Session& session, const Program& program);

}  // namespace rldb::repro
