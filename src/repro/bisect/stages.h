// The comparison of stages that have been read. Room-private.
#pragma once

#include "rldb/repro/bisect.h"

namespace rldb::repro {

// `out` holds the stages. The session's options are as before afterwards.
TraceBisection bisect_stages(session::Session& session, TraceBisection out, const Tolerances& tolerances,
                             const Followed& what, const BisectProgress& progress, support::Ranks* ranks);

}  // namespace rldb::repro
