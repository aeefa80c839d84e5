// The end of a job whose ranks shared a search (support/ranks.h), and the ranks that did not come to it. User: ui.
#pragma once

#include <set>

#include "rldb/support/ranks.h"

namespace rldb::repro {

// The end of a job's work, on each rank. Rank 0 waits for the others a few seconds, and abandons those that do not
// come: `silent_ranks`.
void leave_job(support::Ranks& ranks);
// On rank 0: ranks that have not answered for long, and whose work this rank does. A process is of one job.
const std::set<int>& silent_ranks();

}  // namespace rldb::repro
