// Whether a pass failed because of how it was asked for: an option whose value is no good. For exit codes.
#pragma once

#include "rldb/source/diagnostic.h"

namespace rldb::passes {

// The message is about what an option says, a function that the module has not included, not about the program.
bool is_option_error(source::DiagId id);

}  // namespace rldb::passes
