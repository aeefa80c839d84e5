// What a comparison of values does not see: collectives, of which one worker is run, so that each of them is the
// identity, and what programs print. Room-private.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rldb/ir/module.h"

namespace rldb::repro {

// Notes that name what the modules have of these.
std::vector<std::string> notes_of_not_compared(std::span<const ir::Module* const> modules);

}  // namespace rldb::repro
