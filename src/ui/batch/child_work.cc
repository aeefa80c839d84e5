// Runs work in a separate process: fork, a pipe, and the exit status of the child.
#include "ui/batch/child_work.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rldb/support/file_system.h"

namespace rldb::ui {

namespace {

constexpr char kWhole = '.';  // last byte of a result that was not cut off

}  // namespace

ChildWork::ChildWork(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ended_by_ = std::strerror(errno);
    return;
  }
  std::fflush(nullptr);  // unwritten output belongs to this process
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    std::string bytes = work();
    bytes += kWhole;
    const bool written = support::write_all(ends[1], bytes) == 0;
    std::fflush(nullptr);
    ::_exit(written ? 0 : 1);
  }
  if (pid_ < 0) ended_by_ = std::strerror(errno);
  ::close(ends[1]);
  fd_ = ends[0];
}

ChildWork::~ChildWork() {
  if (fd_ >= 0) ::close(fd_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ChildWork::read() {
  if (fd_ < 0) return true;
  char buffer[1 << 14];
  const ssize_t n = ::read(fd_, buffer, sizeof buffer);
  if (n > 0) bytes_.append(buffer, std::size_t(n));
  return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

std::optional<std::string> ChildWork::result() {
  if (pid_ > 0) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    if (WIFSIGNALED(status))
      ended_by_ = fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
      ended_by_ = fmt::format("exit code {}", WEXITSTATUS(status));
  }
  if (!ended_by_.empty() || bytes_.empty() || bytes_.back() != kWhole) return std::nullopt;
  bytes_.pop_back();
  return std::move(bytes_);
}

}  // namespace rldb::ui
