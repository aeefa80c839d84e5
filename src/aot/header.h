// The C header of a library. Room-private.
#pragma once

#include <string>

#include "aot/plan.h"

namespace rldb::aot {

std::string header_text(const Plan& plan, const std::string& name);

}  // namespace rldb::aot
