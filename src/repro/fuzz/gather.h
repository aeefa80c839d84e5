// Reports of the ranks of one job become one. Room-private.
#pragma once

#include "rldb/repro/fuzz.h"
#include "rldb/repro/relay_fuzz.h"
#include "rldb/support/ranks.h"

namespace rldb::repro {

// On rank 0: waits for the reports of the others, and adds them. On another: sends it there.
void gather(session::Session& session, support::Ranks& ranks, FuzzReport& report);
void gather(support::Ranks& ranks, RelayFuzzReport& report);

}  // namespace rldb::repro
