// Whether a pass failed because of how it was invoked: an option with a bad value. For exit codes.
#pragma once

#include "rldb/source/diagnostic.h"

namespace rldb::passes {

// Whether the message is about the value of an option or a function missing from the module, not about the program.
bool is_option_error(source::DiagId id);

}  // namespace rldb::passes
