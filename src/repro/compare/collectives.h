// Collectives in compared programs: a comparison runs one worker, for which each of them is the identity. Room-private.
#pragma once

#include <span>
#include <string>

#include "rldb/ir/module.h"

namespace rldb::repro {

// A note that names those that the modules call; empty: there are none.
std::string note_of_collectives(std::span<const ir::Module* const> modules);

}  // namespace rldb::repro
