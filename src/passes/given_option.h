// An option that may be None, which is what the pass does without it.
#pragma once

#include "rldb/passes/helpers.h"

namespace rldb::passes {

// As find_option; null for None too.
const PassOption* given_option(const PassOptions& options, std::size_t index, std::string_view name);

}  // namespace rldb::passes
