// Change: what a user did to a run at one moment: a value replaced, an instruction skipped, a frame left.
//
// A run that is executed again is executed with its changes, so that a moment looks the same whichever way it was
// reached. A change made at a time forgets whatever was changed or recorded later: that is another future. User: Run.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "rldb/vm/machine.h"

namespace rldb::debug {

struct Change {
  std::uint64_t time = 0;
  bool moves = false;  // takes the place of the instruction at that time: time goes on by one
  // Applied to the run's machine and to each copy that comes by. An outcome: the run is over with it.
  std::function<std::optional<vm::Outcome>(vm::Machine&)> apply;
};

class Changes {
 public:
  bool empty() const { return list_.empty(); }
  void add(Change change);  // forgets the later ones
  // Applies those of the machine's time; the ones that move only when it is to go on to `until`.
  std::optional<vm::Outcome> apply(vm::Machine& m, std::uint64_t until) const;
  // The time of the next one after `time`; `limit` when that is sooner.
  std::uint64_t next(std::uint64_t time, std::uint64_t limit) const;

 private:
  std::vector<Change> list_;  // by time, then in the order they were made
};

}  // namespace rldb::debug
