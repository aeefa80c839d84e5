// The passes of a pipeline applied to a program, and what each version shows. In a job of several ranks each rank
// applies the passes, which is cheap, and the versions are looked at by all of them. Room-private.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "repro/other_ranks.h"
#include "rldb/repro/oracle.h"

namespace rldb::repro {

class PassLooks {
 public:
  // `ranks`: of the job; null: this process is alone.
  PassLooks(VersionOracle& oracle, pipeline::ModuleRef first, const std::vector<pipeline::Invocation>& passes,
            support::Ranks* ranks);
  ~PassLooks();  // on rank 0: ends the others' `answer`
  PassLooks(const PassLooks&) = delete;
  PassLooks& operator=(const PassLooks&) = delete;

  // On another rank than 0.
  void answer();

  struct Applied {
    pipeline::ModuleRef after;      // null: it fails
    std::optional<Symptom> failed;  // then
    std::int64_t rewrites = 0;      // that it asked for
    std::string last;               // the last one that was made
  };
  // The pass with this index with at most `limit` rewrites (-1: all), on the version before it.
  Applied apply(std::size_t index, std::int64_t limit);
  const Applied& whole(std::size_t index);
  pipeline::ModuleRef before(std::size_t index) { return index == 0 ? first_ : whole(index - 1).after; }

  struct Look {
    std::optional<Symptom> symptom;  // of the version, or of the pass, which fails
    std::string unseen;              // why the version could not be compared
  };
  Look look(std::size_t index);
  // The symptoms with these limits; where several ranks look, all of them at once.
  std::vector<std::optional<Symptom>> with_limits(std::size_t index, const std::vector<std::int64_t>& limits);
  // Questions that are answered at the same time.
  std::size_t width() const { return others_ ? std::size_t(others_->others()) + 1 : 1; }
  // The version after this pass is the reference from now on (VersionOracle::accept_as_meant).
  void accept(std::size_t index);

 private:
  std::string question(std::size_t index, std::int64_t limit) const;
  std::string answer_to(const std::string& question);
  void accept_those(const std::vector<std::string>& parts);
  Look look_here(std::size_t index, std::int64_t limit);
  Look look_at(const Applied& applied, std::size_t index);
  std::vector<std::size_t> worth_a_look(std::size_t index);

  VersionOracle& oracle_;
  pipeline::ModuleRef first_;
  const std::vector<pipeline::Invocation>& passes_;
  support::Ranks* ranks_;
  std::optional<OtherRanks> others_;
  std::deque<Applied> whole_;  // at addresses that stay
  std::map<std::size_t, Look> known_;
  std::vector<std::size_t> accepted_;
};

}  // namespace rldb::repro
