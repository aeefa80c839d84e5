// The job of a batch command that `mpirun` started on several ranks: rank 0 works and writes, the others help.
#pragma once

#include <memory>

#include "rldb/support/ranks.h"
#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

class Job {
 public:
  // Ranks other than 0 write nothing from here on.
  Job(const CommandLine& line, Console& console);
  ~Job();  // ends the others, and names those that do not answer
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  bool fine() const { return fine_; }                     // false: diagnosed
  support::Ranks* ranks() const { return ranks_.get(); }  // null: the process is alone
  bool helps() const { return ranks_ && ranks_->rank() > 0; }

 private:
  const CommandLine& line_;
  Console& console_;
  std::unique_ptr<support::Ranks> ranks_;
  bool fine_ = true;
};

}  // namespace rldb::ui
