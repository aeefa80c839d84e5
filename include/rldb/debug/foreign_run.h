// A run that goes on in another process (room attach): the debugger shows it and moves it forward. It has no history,
// cannot be changed, and goes on alone when the debugger gives it up. Used by ui/prompt.
#pragma once

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// `build`: with a foreign program (vm/instruction_set.h), which is stopped. Any run before is given up.
StopReport show_foreign(Debugger& debugger, std::shared_ptr<const session::Build> build);
// The same run, after what it shows was changed (another thread was selected).
StopReport look_again(Debugger& debugger);
bool is_foreign(const Debugger& debugger);

}  // namespace rldb::debug
