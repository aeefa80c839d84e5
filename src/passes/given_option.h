// An option that may be None, which means the same as leaving it out.
#pragma once

#include "rldb/passes/helpers.h"

namespace rldb::passes {

// As find_option; null for None too.
const PassOption* given_option(const PassOptions& options, std::size_t index, std::string_view name);

}  // namespace rldb::passes
