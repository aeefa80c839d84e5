// Starts the command in a process group of its own, which is killed as a whole.
#include "repro/partner/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "rldb/support/file_system.h"

namespace rldb::repro {

namespace {

constexpr std::size_t kMostOfLine = 1 << 20;         // bytes of an answer
constexpr std::size_t kMostOfErrorStream = 1 << 16;  // bytes that are kept
constexpr int kSignalOfShell = 128;  // a shell's exit code for a command that a signal ended, less the signal
// A process that has closed its output has this long to end by itself.
constexpr auto kToEnd = std::chrono::milliseconds(500);

std::chrono::nanoseconds in_seconds(double s) { return std::chrono::nanoseconds(std::int64_t(s * 1e9)); }

void close_end(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::string last_of(std::string_view text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const auto line = text.rfind('\n');
  return std::string(line == std::string_view::npos ? text : text.substr(line + 1));
}

}  // namespace

void PartnerProcess::be_command(int in, int out, int errors) const {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGALRM}) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const ::rlimit data{options_.memory, options_.memory}, core{0, 0};
  ::setrlimit(RLIMIT_DATA, &data);
  ::setrlimit(RLIMIT_CORE, &core);
  ::execl("/bin/sh", "sh", "-c", options_.command.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

std::string PartnerProcess::begin() {
  stop();
  int ends[3][2];
  for (int i = 0; i < 3; ++i)
    if (::pipe2(ends[i], O_CLOEXEC) != 0) {
      const std::string why = support::error_text(errno);
      for (int k = 0; k < i; ++k) ::close(ends[k][0]), ::close(ends[k][1]);
      return why;
    }
  pid_ = ::fork();
  if (pid_ == 0) be_command(ends[0][0], ends[1][1], ends[2][1]);
  const std::string why = pid_ < 0 ? support::error_text(errno) : std::string();
  ::close(ends[0][0]), ::close(ends[1][1]), ::close(ends[2][1]);
  in_ = ends[0][1], out_ = ends[1][0], errors_ = ends[2][0];
  if (!why.empty()) {
    stop();
    return why;
  }
  ::setpgid(pid_, pid_);
  for (const int fd : {in_, out_, errors_}) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  said_.clear();
  error_text_.clear();
  state_ = State::Starting;
  deadline_ = Clock::now() + in_seconds(options_.start_seconds);
  return {};
}

// A request is shorter than a pipe's buffer: one that does not fit is not being read.
bool PartnerProcess::give(const std::string& line) {
  said_.clear();
  error_text_.clear();
  state_ = State::Busy;
  deadline_ = Clock::now() + in_seconds(options_.seconds);
  return ::write(in_, line.data(), line.size()) == ssize_t(line.size());
}

std::optional<std::string> PartnerProcess::hear(bool& ended) {
  char buffer[1 << 14];
  const ssize_t n = ::read(out_, buffer, sizeof buffer);
  ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
  if (n > 0) said_.append(buffer, std::size_t(n));
  const auto end = said_.find('\n');
  if (end == std::string::npos && said_.size() < kMostOfLine) return std::nullopt;
  std::string line = said_.substr(0, end);
  said_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

void PartnerProcess::hear_errors() {
  char buffer[1 << 14];
  const ssize_t n = ::read(errors_, buffer, sizeof buffer);
  if (n > 0) error_text_.append(buffer, std::size_t(n));
  if (error_text_.size() > 2 * kMostOfErrorStream) error_text_.erase(0, error_text_.size() - kMostOfErrorStream);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) close_end(errors_);
}

PartnerProcess::End PartnerProcess::stop() {
  End end;
  int status = 0;
  if (pid_ > 0) {
    const auto until = Clock::now() + kToEnd;
    pid_t ended = 0;
    // Its output is closed, but the process may be about to die of a signal.
    while ((ended = ::waitpid(pid_, &status, WNOHANG)) == 0 && state_ != State::Idle && Clock::now() < until &&
           Clock::now() < deadline_)
      ::usleep(1000);
    ::kill(-pid_, SIGKILL);
    if (ended == 0) ::waitpid(pid_, &status, 0);
    if (ended > 0 && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
    if (ended > 0 && WIFEXITED(status)) end.code = WEXITSTATUS(status);
    if (end.code > kSignalOfShell && end.code < kSignalOfShell + NSIG) end.signal = end.code - kSignalOfShell;
  }
  for (::pollfd left{errors_, POLLIN, 0}; errors_ >= 0 && ::poll(&left, 1, 0) > 0; left.fd = errors_) hear_errors();
  end.last_line = last_of(error_text_);
  close_end(in_), close_end(out_), close_end(errors_);
  pid_ = -1;
  state_ = State::None;
  return end;
}

}  // namespace rldb::repro
