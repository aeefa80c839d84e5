// The machine that a schedule is made for, and what its results may differ by.
#pragma once

#include "rldb/schedule/schedule.h"

namespace rldb::schedule {

struct Target {
  unsigned vector_bytes = 16;
  bool float16 = false;    // calculates in float16, as many at a time as fit into a vector
  bool byte_dots = false;  // adds up four products of a signed and an unsigned byte at a time
  // --fp=fast: the terms of a sum may be added in any order, and those of narrow floats in float32, without rounding
  // each sum to the narrow format.
  bool fast_sums = false;
};

// This machine, strict.
const Target& host_target();

// As default_schedule(ctx, f, options), which makes it for this machine, or for one with vectors of
// `options.vector_bytes` and nothing else; here that option is not read.
Result default_schedule(ir::Context& ctx, const ir::PrimFunc* f, const Options& options, const Target& target);

}  // namespace rldb::schedule
