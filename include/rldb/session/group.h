// Group: a program run by several workers in this process, each on a machine of its own, so that programs with
// collectives (`R.ccl.*`, tensor parallelism) can be run and stepped.
//
// The machines take turns: each runs until it comes to a collective, and there all of them meet. A group whose members
// cannot meet is an error that says where each of them is. One rank can be run again by whoever steps it (the
// debugger): it then meets what the others brought when the group ran. Users: ui.
#pragma once

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
  // `ranks` is at least 1.
  Group(Session& session, std::size_t ranks);
  ~Group() override;  // the program is the only worker again
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Runs the function on all ranks, with arguments by rank. False: a rank failed, or they wait for each other;
  // diagnosed.
  bool run(std::string_view function, const std::vector<std::vector<runtime::Value>>& args, Diagnostics& out);
  // The results, by rank, of a run that went well.
  const std::vector<runtime::Value>& results() const { return results_; }
  // A run that begins now outside of `run` is this rank's, and meets what the others brought in the last run.
  void be(std::size_t rank) {
    rank_ = rank;
    own_.clear();
  }

  std::int64_t id() const override { return std::int64_t(rank_); }
  runtime::Result<runtime::Value> meet(runtime::Collective what, runtime::PackedArgs args) override;

 private:
  // A collective that all ranks came to.
  struct Meeting {
    runtime::Collective what{};
    std::vector<runtime::Value> inputs;  // by rank
  };
  struct Member;
  bool advance(std::vector<Member>& members, Diagnostics& out);
  bool meet_all(std::vector<Member>& members, Diagnostics& out);
  bool report_waiting(const std::vector<Member>& members, Diagnostics& out) const;

  Session& session_;
  std::size_t ranks_;
  std::size_t rank_ = 0;
  bool together_ = false;  // `run` is at work
  bool meeting_ = false;   // all ranks are at one collective
  std::vector<Meeting> meetings_;
  std::vector<std::uint64_t> own_;  // when the rank that runs alone came to each of them
  std::vector<runtime::Value> results_;
};

// The `--input` texts of one rank: `x@1=...` is for parameter x of rank 1 alone, in place of an `x=...` for all.
// A rank that the group does not have is diagnosed.
std::optional<std::vector<std::string>> inputs_of_rank(std::span<const std::string> texts, std::size_t rank,
                                                       std::size_t ranks, Diagnostics& out);

}  // namespace rldb::session
