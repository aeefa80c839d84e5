// A stopped run that is put aside while its debugger has another one: of several ranks, each has a run of its own.
//
// Nothing is executed by parking and unparking, and time travel works as before. Breakpoints belong to the debugger:
// those of all its runs are the same. Used by protocol (the threads of `rldb dap`).
#pragma once

#include <memory>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// Afterwards the debugger has no run.
std::shared_ptr<Debugger::Snapshot> park(Debugger& debugger);
// The run that the debugger has is dropped. Null: it has none afterwards.
void unpark(Debugger& debugger, std::shared_ptr<Debugger::Snapshot> run);

}  // namespace rldb::debug
