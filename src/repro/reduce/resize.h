// Programs with smaller dims. Room-private.
#pragma once

#include "repro/reduce/moves.h"
#include "rldb/session/session.h"

namespace rldb::repro {

// One number among the parameters' dims becomes smaller wherever it occurs in the program's text, which is parsed
// again: types follow, and programs that no longer fit together are not candidates.
std::vector<Candidate> smaller_dims(session::Session& session, const ir::Module* module);

}  // namespace rldb::repro
