// Collectives and prints, which a comparison of values does not see: one worker is run, for which each collective is
// the identity. Room-private.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rldb/ir/module.h"

namespace rldb::repro {

// Notes that name what the modules have of these.
std::vector<std::string> notes_of_not_compared(std::span<const ir::Module* const> modules);

}  // namespace rldb::repro
