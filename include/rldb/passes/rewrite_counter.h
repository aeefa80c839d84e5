// The counter of rewrites (support/rewrite_counter.h) under the passes' names. Users: the passes, repro.
#pragma once

#include "rldb/support/rewrite_counter.h"

namespace rldb::passes {

using support::may_rewrite;
using support::RewriteCounter;

}  // namespace rldb::passes
