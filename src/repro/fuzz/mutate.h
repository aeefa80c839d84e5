// Programs made from given modules. Room-private.
#pragma once

#include "rldb/repro/generate.h"

namespace rldb::repro {

// The Relax modules in the files of these folders (and below them) that have a runnable `main`, without the functions
// that it does not need: what nobody calls has no findings.
std::vector<const ir::Module*> read_seeds(session::Session& session, const std::vector<std::string>& folders);
// One of them with bindings added: an operator that takes another variable of the same type, and calls of operators on
// the values that the module computes, whose results are returned beside its own. nullopt: this seed gives none.
std::optional<Generated> mutate(session::Session& session, const std::vector<const ir::Module*>& from,
                                std::uint64_t seed);

}  // namespace rldb::repro
