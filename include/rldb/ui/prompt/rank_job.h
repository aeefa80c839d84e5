// RankJob: this process as one of the ranks that `mpirun` started to run one program together. A rank that dies is
// reported, with the place where it was, by one that lives. Made by `rldb run` and the prompt, before other threads
// are.
#pragma once

#include <memory>

#include "rldb/session/process_group.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/rank_board.h"
#include "rldb/support/ranks.h"

namespace rldb::ui {

class RankJob {
 public:
  // Null: the process is alone; or it cannot work with the others, which is diagnosed. `groups` divides their number,
  // else that is diagnosed.
  static std::unique_ptr<RankJob> join(std::size_t groups, source::Diagnostics& out);
  ~RankJob();
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;

  session::ProcessGroup& group() { return *group_; }

 private:
  RankJob() = default;
  std::unique_ptr<support::Ranks> ranks_;
  std::unique_ptr<support::RankBoard> board_;
  std::unique_ptr<support::RankWatch> watch_;
  std::unique_ptr<session::ProcessGroup> group_;
};

// That of the prompt; null: it is alone.
session::ProcessGroup* prompt_ranks();
void set_prompt_ranks(session::ProcessGroup* ranks);

}  // namespace rldb::ui
