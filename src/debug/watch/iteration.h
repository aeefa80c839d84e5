// The iteration of a kernel that made a watched change: the loop variables' values at the store. User: the reports of
// watchpoints made with `watch -i`.
#pragma once

#include <string>

#include "debug/impl.h"

namespace rldb::debug {

// Of the instruction at that time, which changed what the watchpoint watches: one line, with the reason if it cannot be
// told.
std::string storing_iteration(const Debugger::Impl& d, const Breakpoint& watch, std::uint64_t time);

}  // namespace rldb::debug
