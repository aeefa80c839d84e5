// Group: a program run by several workers in this process, each on a machine of its own, so that programs with
// collectives (`R.ccl.*`, tensor parallelism) can be run and stepped.
//
// The machines take turns: each runs until it reaches a collective, where the participants meet: all of them,
// or one group of consecutive ranks. A message is delivered where it is waited for. Ranks that cannot
// meet are an error that tells where each of them is. One rank can be rerun under a debugger:
// it then meets what the others brought when the group ran. Users: ui.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/workers.h"
#include "rldb/session/session.h"

namespace rldb::session {

class Group : public runtime::Workers {
 public:
  // `ranks` is at least 1, and `groups` divides it.
  Group(Session& session, std::size_t ranks, std::size_t groups = 1);
  std::size_t groups() const { return ranks_ / group_size_; }
  ~Group() override;  // the program is the only worker again
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Told of the turns of each rank, and gives the hook that observes its machine.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual vm::Hook& hook(std::size_t rank) = 0;
    virtual void turn(std::size_t rank, bool begins) = 0;
  };
  void observe(Observer* observer) { observer_ = observer; }  // null: nobody

  // Runs the function on all ranks, with arguments by rank. False: a rank failed, or they wait for each other;
  // diagnosed.
  bool run(std::string_view function, const std::vector<std::vector<runtime::Value>>& args, Diagnostics& out);
  // The results, by rank, of a run that went well.
  const std::vector<runtime::Value>& results() const { return results_; }
  // With which it was begun, by rank; empty: there was none.
  const std::vector<std::vector<runtime::Value>>& arguments() const { return arguments_; }
  // A run that begins outside `run` from now on is this rank's, and meets what the others brought in the last run.
  void be(std::size_t rank) {
    rank_ = rank;
    own_[rank].clear();
  }
  // The run of this rank, which began after `be`, goes on: runs of several ranks can be stepped alternately.
  void be_again(std::size_t rank) { rank_ = rank; }
  // How often `run` was called: what ranks met before is gone.
  std::size_t runs() const { return runs_; }

  std::int64_t id() const override { return std::int64_t(rank_); }
  runtime::Result<runtime::Value> meet(runtime::Collective what, runtime::PackedArgs args) override;

 private:
  // A collective that a rank reached, with the other participants.
  struct Meeting {
    runtime::Collective what{};
    std::vector<runtime::Value> inputs;  // of the participants
    std::size_t place = 0;               // of the rank among them
  };
  struct Member;
  bool advance(std::vector<Member>& members, Diagnostics& out);
  bool meet_some(std::vector<Member>& members, Diagnostics& out);
  std::optional<bool> meet_one(std::vector<Member>& members, std::size_t rank, Diagnostics& out);
  static bool same_reduction(const std::vector<Member>& members, const std::vector<std::size_t>& all, Diagnostics& out);
  std::vector<std::size_t> participants(const Member& m, std::size_t rank) const;
  std::optional<std::size_t> peer_of(const Member& m, std::size_t rank) const;
  bool take_part(Member& m, std::size_t rank, Meeting meeting, Diagnostics& out);
  bool report_waiting(const std::vector<Member>& members, Diagnostics& out) const;
  std::string place_of(const Member& m, std::size_t rank) const;
  runtime::Result<runtime::Value> meet_again(runtime::Collective what, runtime::PackedArgs args);

  template <class Advance>
  vm::Outcome in_turn(Advance advance);

  Session& session_;
  Observer* observer_ = nullptr;
  std::size_t ranks_;
  std::size_t group_size_;
  std::size_t rank_ = 0;
  bool together_ = false;                       // `run` is at work
  bool meeting_ = false;                        // the rank may pass its collective
  std::vector<std::vector<Meeting>> meetings_;  // by rank
  std::map<std::pair<std::size_t, std::size_t>, std::deque<runtime::Value>> messages_;  // from a rank to another
  std::vector<std::vector<std::uint64_t>> own_;  // by rank: when its run alone reached each of them
  std::size_t runs_ = 0;
  std::vector<runtime::Value> results_;
  std::vector<std::vector<runtime::Value>> arguments_;
};

// The `--input` texts of one rank: `x@1=...` is for parameter x of rank 1 alone, instead of an `x=...` for all.
// A rank that the group does not have is diagnosed.
std::optional<std::vector<std::string>> inputs_of_rank(std::span<const std::string> texts, std::size_t rank,
                                                       std::size_t ranks, Diagnostics& out);

}  // namespace rldb::session
