// Change: a user's modification of a run at one moment: a value replaced, an instruction skipped, a frame left.
//
// A run that is executed again is executed with its changes, so that a moment looks the same whichever way it was
// reached. A change made at a time discards whatever was changed or recorded later: that was another future. User: Run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rldb/vm/machine.h"

namespace rldb::debug {

struct Change {
  std::uint64_t time = 0;
  bool moves = false;  // replaces the instruction at that time: time advances by one
  // Applied to the run's machine and to each copy that passes. An outcome: it ends the run.
  std::function<std::optional<vm::Outcome>(vm::Machine&)> apply;
  // The tensor that it writes to; none: it writes to no tensor.
  struct Target {
    std::size_t frame = 0;
    bytecode::RegName reg = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> bytes = {};  // of the tensor, ascending; empty: all
  };
  std::optional<Target> writes = {};
  // The user's words: `a[7]`, `set a[7] = 5`. Empty: no value was set.
  struct Said {
    std::string target, command;
  };
  Said said = {};
  bytecode::Pc pc = -1;  // the next instruction at that time
};

class Changes {
 public:
  bool empty() const { return list_.empty(); }
  void add(Change change);  // discards the later ones
  // Those at a time that set a value: "the command `set n = 5`"; empty: there are none.
  std::string commands_at(std::uint64_t time) const;
  // Applies those at the machine's time; the ones that move only if it is to continue to `until`.
  std::optional<vm::Outcome> apply(vm::Machine& m, std::uint64_t until) const;
  const std::vector<Change>& list() const { return list_; }
  bool moves_at(std::uint64_t time) const;
  // Was one made after `begin`, at `end` or before?
  bool any_in(std::uint64_t begin, std::uint64_t end) const { return next(begin, end + 1) <= end; }
  // The time of the next one after `time`; `limit` when that is sooner.
  std::uint64_t next(std::uint64_t time, std::uint64_t limit) const;

 private:
  std::vector<Change> list_;  // by time, then in the order they were made
};

}  // namespace rldb::debug
