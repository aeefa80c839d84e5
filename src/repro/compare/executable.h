// Recorded runs of programs that are no Relax modules: of their code. Room-private.
#pragma once

#include "rldb/repro/compare.h"

namespace rldb::repro {

// On the machine, instruction by instruction; variables are named by the debug information.
Trace record_code(session::Session& session, const Program& program);

}  // namespace rldb::repro
