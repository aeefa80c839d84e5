// Runs of ranks, put aside and taken back.
#include "protocol/dap/rank_runs.h"

#include <algorithm>

#include "rldb/debug/side_by_side.h"
#include "rldb/session/group.h"

namespace rldb::protocol::dap {

std::optional<std::size_t> RankRuns::first_live() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].live) return rank;
  return std::nullopt;
}

void RankRuns::begin() {
  // Numbers of frames are not used twice.
  std::int64_t next = 1;
  for (const Rank& r : ranks_) next = std::max(next, r.view.first_frame);
  ranks_ = std::vector<Rank>(repl_.ranks);
  for (Rank& r : ranks_) r.view.first_frame = next;
  selected_ = repl_.rank;
  ranks_[current()].live = true;
  group_ = repl_.group.get();
  group_runs_ = group_ ? group_->runs() : 0;
  watched_in_.clear();
  disabled_.clear();
}

bool RankRuns::is_of_this_group() const {
  return repl_.ranks == count() && repl_.group.get() == group_ && (!group_ || group_->runs() == group_runs_);
}

void RankRuns::select(std::size_t rank) {
  const std::size_t from = current();
  if (rank == from || rank >= count()) return;
  ranks_[from].parked = debug::park(repl_.debugger());
  repl_.rank = selected_ = rank;
  if (repl_.group) repl_.group->be_again(rank);
  debug::unpark(repl_.debugger(), std::move(ranks_[rank].parked));
  repl_.frame() = 0;
  ranks_[rank].live = true;
  choose_watchpoints(from, rank);
}

std::optional<std::size_t> RankRuns::take_back() {
  const std::size_t asked = repl_.rank;
  if (asked == selected_) return std::nullopt;
  (void)debug::exchange_run(repl_.debugger(), int(asked), int(selected_));
  repl_.rank = selected_;
  if (repl_.group) repl_.group->be_again(selected_);
  return asked;
}

void RankRuns::choose_watchpoints(std::size_t from, std::size_t to) {
  for (const auto& [number, point] : repl_.debugger().breakpoints()) {
    if (point.kind != debug::PointKind::Watch) continue;
    const bool own = watched_in_.try_emplace(number, from).first->second == to;
    if (own && disabled_.erase(number) > 0) repl_.debugger().find_breakpoint(number)->enabled = true;
    if (!own && point.enabled && disabled_.insert(number).second)
      repl_.debugger().find_breakpoint(number)->enabled = false;
  }
}

}  // namespace rldb::protocol::dap
