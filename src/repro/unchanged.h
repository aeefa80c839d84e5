// Functions that passes leave as they are. Room-private.
#pragma once

#include <string_view>

#include "rldb/ir/module.h"

namespace rldb::repro {

// The function, and all that it calls, is the same in both modules.
bool is_unchanged(const ir::Module* before, const ir::Module* after, std::string_view function);

}  // namespace rldb::repro
