// RankRuns: the runs of a program's ranks, which are the threads of a client. One of them is in the debugger, the
// others are put aside; each has its own time, frames and values, and is stepped by itself: it meets what the others
// brought to collectives when the whole group ran (session/group.h).
//
// Breakpoints are those of all ranks. A watchpoint belongs to the rank in which it was set: in the others it is
// disabled. A number that a client has of a frame or of variables tells the rank: it is the number within the rank
// times the number of ranks, plus the rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "protocol/dap/sources.h"
#include "rldb/debug/parked_run.h"

namespace rldb::protocol::dap {

// The stop of a rank as its client knows it.
struct StopView {
  std::optional<std::vector<debug::FrameInfo>> frames;
  std::int64_t first_frame = 1;      // the number of the innermost one
  std::optional<SourceRef> version;  // in whose text frames are shown
  std::vector<debug::Debugger::BindingCall> step_targets;
};

class RankRuns {
 public:
  explicit RankRuns(ui::Repl& repl) : repl_(repl), ranks_(1) {}

  std::size_t count() const { return ranks_.size(); }
  std::size_t current() const { return selected_; }
  StopView& view() { return ranks_[current()].view; }
  // A rank that has a run, stopped or going on.
  bool is_live(std::size_t rank) const { return rank < ranks_.size() && ranks_[rank].live; }
  std::optional<std::size_t> first_live() const;

  // A run of the program begins: of the present rank, on as many ranks as the session has.
  void begin();
  // False: the group ran again, or is another one, without `begin`: only the present rank has a run.
  bool is_of_this_group() const;
  // Its run is put into the debugger; one that has none begins with it.
  void select(std::size_t rank);
  // An entry of the console has changed the rank (`:rank`), by putting this run aside within the debugger: it is taken
  // back. The rank that was asked for; none: nothing of the kind happened.
  std::optional<std::size_t> take_back();
  // The present rank's run is over.
  void end() { ranks_[current()].live = false; }

  std::int64_t id(std::int64_t number) const { return number * std::int64_t(count()) + std::int64_t(current()); }
  std::size_t rank_of(std::int64_t id) const { return std::size_t(id < 0 ? 0 : id) % count(); }
  std::int64_t number_of(std::int64_t id) const { return id / std::int64_t(count()); }

 private:
  struct Rank {
    std::shared_ptr<debug::Debugger::Snapshot> parked;
    bool live = false;
    StopView view;
  };
  void choose_watchpoints(std::size_t from, std::size_t to);

  ui::Repl& repl_;
  std::vector<Rank> ranks_;
  std::size_t selected_ = 0;
  std::size_t group_runs_ = 0;             // of the group, when the runs began
  const session::Group* group_ = nullptr;  // only compared
  std::map<int, std::size_t> watched_in_;  // the rank of a watchpoint
  std::set<int> disabled_;                 // by `choose_watchpoints`
};

}  // namespace rldb::protocol::dap
