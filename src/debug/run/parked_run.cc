// Runs that wait for their turn at the debugger.
#include "rldb/debug/parked_run.h"

#include "debug/impl.h"

namespace rldb::debug {

std::shared_ptr<Debugger::Snapshot> park(Debugger& debugger) {
  std::shared_ptr<Debugger::Snapshot> run = debugger.snapshot();
  run->set_aside = true;
  run->checkpoints = debugger.checkpoints();
  debugger.kill();
  return run;
}

void unpark(Debugger& debugger, std::shared_ptr<Debugger::Snapshot> run) {
  if (run)
    debugger.restore(*run);
  else
    debugger.kill();
}

}  // namespace rldb::debug
