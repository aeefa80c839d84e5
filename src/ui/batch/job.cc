#include "ui/batch/job.h"

#include <fcntl.h>
#include <unistd.h>

#include "rldb/repro/leave_job.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_rank.h"

namespace rldb::ui {

namespace {

void write_nothing() {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

}  // namespace

Job::Job(const CommandLine& line, Console& console) : line_(line), console_(console) {
  std::string why;
  ranks_ = support::Ranks::join(why);
  if (helps()) write_nothing();
  if (why.empty()) return;
  source::Diagnostics found;
  found.add({}, source::message(diag::NoJob, why));
  report(found, {}, line, console);
  fine_ = false;
}

Job::~Job() {
  if (!ranks_) return;
  repro::leave_job(*ranks_);
  source::Diagnostics silent;
  for (const int rank : repro::silent_ranks()) silent.add({}, source::message(diag::RankSilent, rank));
  if (!repro::silent_ranks().empty()) report(silent, {}, line_, console_);
}

}  // namespace rldb::ui
