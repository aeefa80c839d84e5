// A child process and the pipe to it.
#include "repro/reduce/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "rldb/support/cancel.h"
#include "rldb/support/file_system.h"
#include "rldb/support/shell.h"

namespace rldb::repro {

namespace {

constexpr std::int64_t kBetweenPolls = 100;  // milliseconds

}  // namespace

ChildProcess::ChildProcess(const ChildLimits& limits, const std::function<std::string()>& work)
    : deadline_(std::chrono::steady_clock::now() + std::chrono::milliseconds(std::int64_t(limits.seconds * 1000))) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) be_child(ends[1], limits, work);
  ::close(ends[1]);
  fd_ = ends[0];
}

ChildProcess::~ChildProcess() {
  if (fd_ >= 0) ::close(fd_);
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ChildProcess::is_done() const {
  ::pollfd there{fd_, POLLIN, 0};
  return fd_ < 0 || std::chrono::steady_clock::now() >= deadline_ || ::poll(&there, 1, 0) > 0;
}

std::optional<std::string> ChildProcess::answer() {
  std::string bytes;
  while (fd_ >= 0) {
    support::poll();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now()).count();
    ::pollfd wait{fd_, POLLIN, 0};
    // An answer that was written in time is read, whenever that is.
    if (::poll(&wait, 1, int(std::clamp<std::int64_t>(left, 0, kBetweenPolls))) <= 0) {
      is_late_ = left <= 0;
      if (is_late_) return std::nullopt;
      continue;
    }
    char buffer[4096];
    const ssize_t n = ::read(fd_, buffer, sizeof buffer);
    if (n <= 0) break;
    bytes.append(buffer, std::size_t(n));
  }
  if (!bytes.empty()) return bytes;
  int status = 0;
  if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  pid_ = -1;
  signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return std::nullopt;
}

void ChildProcess::be_child(int fd, const ChildLimits& limits, const std::function<std::string()>& work) const {
  ::setpgid(0, 0);
  support::keep_commands_in_group();
  if (!scratch_.path().empty()) ::setenv("TMPDIR", scratch_.path().c_str(), 1);
  const auto seconds = rlim_t(std::ceil(limits.seconds)) + 1;
  const ::rlimit cpu{seconds, seconds};
  ::setrlimit(RLIMIT_CPU, &cpu);
  const ::rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
  try {
    (void)support::write_all(fd, work());
  } catch (...) {  // a bug triggered by this candidate is not the one being searched for
  }
  ::_exit(0);
}

}  // namespace rldb::repro
