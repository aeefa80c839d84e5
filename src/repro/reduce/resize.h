// Programs with smaller dims. Room-private.
#pragma once

#include "repro/reduce/moves.h"
#include "rldb/session/session.h"

namespace rldb::repro {

// One number of the parameters' dims becomes a smaller one wherever it is in the program's text, which is read
// again: types follow, and what does not fit together any more is no candidate.
std::vector<Candidate> smaller_dims(session::Session& session, const ir::Module* module);

}  // namespace rldb::repro
