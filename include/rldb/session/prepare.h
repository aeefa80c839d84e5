// Kernels compiled ahead of a run that is measured.
#pragma once

#include <string_view>

#include "rldb/session/session.h"

namespace rldb::session {

// Compiles the kernels that the code calls, and `function` if it is one, so that their first calls cost what all others
// do.
void prepare_kernels(const Build& build, std::string_view function);

}  // namespace rldb::session
