// The system's linker, found when it is needed. Room-private.
#pragma once

#include <string>
#include <vector>

#include "rldb/aot/build.h"

namespace rldb::aot {

// Joins object files. Failure: why, with the linker's own words.
support::Result<support::Unit, std::string> link(const Request& request, const std::vector<std::string>& objects,
                                                 const std::string& folder, const std::string& output);

}  // namespace rldb::aot
