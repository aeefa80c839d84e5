// Other inputs for a pipeline after which a program gives the same values on the first ones. Room-private.
#pragma once

#include "repro/cpu_clock.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/oracle.h"

namespace rldb::repro {

// The versions after each pass are the stages of a bisection. `out`: the answer so far; it gets the inputs that were
// tried, and notes. `took`: by it, of this process. The answer on inputs that show a fault, without its rewrite;
// nullopt: none does.
std::optional<PassBisection> search_inputs(session::Session& session, Oracle& oracle, const ir::Module* module,
                                           const std::vector<passes::PassInvocation>& passes, CpuClock::duration took,
                                           PassBisection& out, const BisectProgress& progress);

// As `bisect_passes`, without other inputs: for one that asks about many programs.
PassBisection bisect_on_these_inputs(session::Session& session, const ir::Module* module, const Question& question);

}  // namespace rldb::repro
