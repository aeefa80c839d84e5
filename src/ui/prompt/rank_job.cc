#include "rldb/ui/prompt/rank_job.h"

#include <signal.h>
#include <unistd.h>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_rank.h"

namespace rldb::ui {

namespace {

session::ProcessGroup* g_prompt_ranks = nullptr;

// On the watch's thread, while the others may be anywhere.
void report_end(support::RankEnd end, int rank, const std::string& place) {
  const std::string where = place.empty() ? "its first steps" : place;
  const source::Message m = end == support::RankEnd::Died ? source::message(diag::RankDied, rank, where)
                                                          : source::message(diag::RankTerminated, rank, where);
  const std::string text = "error: " + m.text + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::unique_ptr<RankJob> RankJob::join(std::size_t groups, source::Diagnostics& out) {
  // The threads of MPI too leave this signal to the watch.
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  std::string why;
  std::unique_ptr<RankJob> job(new RankJob);
  job->ranks_ = support::Ranks::join(why);
  if (!job->ranks_) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!why.empty()) out.add({}, source::message(diag::NoJob, why));
  if (!job->ranks_) return nullptr;
  const auto size = std::size_t(job->ranks_->size());
  if (groups < 1 || size % groups != 0) {
    out.add({}, source::message(diag::RanksOfJob, std::to_string(groups) + " groups do not divide them", size));
    return nullptr;
  }
  if (support::RankBoard::is_possible(*job->ranks_)) {
    job->board_ = support::RankBoard::share(*job->ranks_);
    if (!job->board_) {
      out.add({}, source::message(diag::NoJob, "their memory cannot be shared"));
      job->ranks_->abandon();
      return nullptr;
    }
    job->watch_ = std::make_unique<support::RankWatch>(*job->board_, job->ranks_->rank(), report_end);
  }
  job->group_ = std::make_unique<session::ProcessGroup>(*job->ranks_, job->board_.get(), groups);
  return job;
}

// The row of the board is marked before the watch of another rank could miss the process.
RankJob::~RankJob() {
  group_ = nullptr;
  watch_ = nullptr;
  board_ = nullptr;
}

session::ProcessGroup* prompt_ranks() { return g_prompt_ranks; }
void set_prompt_ranks(session::ProcessGroup* ranks) { g_prompt_ranks = ranks; }

}  // namespace rldb::ui
