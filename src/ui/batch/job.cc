#include "ui/batch/job.h"

#include <fcntl.h>
#include <unistd.h>

#include "rldb/repro/reduce.h"
#include "rldb/source/diagnostic_entry.h"

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

Job::Job(const CommandLine& line, Console& console) {
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
  if (ranks_ && ranks_->rank() == 0) repro::end_other_ranks(*ranks_);
}

}  // namespace rldb::ui
