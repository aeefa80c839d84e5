// The same program in float64: the reference for both sides of a comparison. Room-private.
#pragma once

#include "rldb/repro/compare.h"

namespace rldb::repro {

// `a` and `b` are differing results, leaf by leaf, of `program` and of another form of it.
Shadow against_shadow(session::Session& session, const Program& program, const runtime::Value& a,
                      const runtime::Value& b);

}  // namespace rldb::repro
