// A run to the end on a machine, observed by a hook: for profiles. Users: session, debug.
#pragma once

#include <span>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::session {

// As Session::run does on the machine. `hook` null: nobody observes it.
RunResult run_observed(const Build& build, std::string_view function, std::span<const runtime::Value> args,
                       vm::Hook* hook, Diagnostics& out);

}  // namespace rldb::session
