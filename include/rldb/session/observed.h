// A run to the end on a machine, observed by a hook: for profiles. Users: session, debug.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::session {

// As Session::run does on the machine. `hook` null: nobody observes it.
RunResult run_observed(const Build& build, std::string_view function, std::span<const runtime::Value> args,
                       vm::Hook* hook, Diagnostics& out);

// Fetches the result of a function from the device, if it is there. An Error is a copy that failed: of the result, or
// earlier in the run, where the host read something.
std::optional<runtime::Error> lost_result(std::string_view function, const runtime::Value& result);

}  // namespace rldb::session
