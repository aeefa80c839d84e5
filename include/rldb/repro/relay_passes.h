// Whether the passes of the Relay VM's compiler preserve a program's values. Two versions run on the same inputs; finds
// the first pass of a pipeline that introduces a fault, and which of its rewrites is responsible; reduces the program.
//
// A version may be lowered to any degree: the compiler skips what is already done. Users: ui, tests.
#pragma once

#include <string>
#include <vector>

#include "rldb/relay/passes/pass.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/validate.h"
#include "rldb/session/relay_text.h"

namespace rldb::repro {

// Functions over tensors that both versions have, at several sizes where dims are `?`.
Validation validate_relay(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
                          const session::Options& options);

// As bisect_passes (bisect.h), of the program's present version.
PassBisection bisect_relay(session::Session& session, const session::RelayText& program,
                           const std::vector<pipeline::Invocation>& passes, const Question& question,
                           const BisectProgress& progress = {}, support::Ranks* ranks = nullptr);

// The smallest version of the program found that these passes break in the same way.
struct RelayReduction : ReductionFacts {
  const relay::Module* module = nullptr;  // null: there is no symptom to keep
};
RelayReduction reduce_relay(session::Session& session, const session::RelayText& program,
                            const std::vector<pipeline::Invocation>& passes, const Question& question,
                            const ReduceOptions& options);

}  // namespace rldb::repro
