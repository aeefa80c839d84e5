#include "pty/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace rldb::pty {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void run_child(int slave, const std::string& program, const std::vector<std::string>& arguments,
                            const std::string& home) {
  ::login_tty(slave);
  if (::chdir(home.c_str()) != 0) ::_exit(127);
  const std::string state = home + "/state";
  ::setenv("HOME", home.c_str(), 1);
  ::setenv("XDG_STATE_HOME", state.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (home + "/cache").c_str(), 1);
  ::setenv("INPUTRC", "/dev/null", 1);
  ::setenv("TERM", "xterm-256color", 1);
  ::setenv("LC_ALL", "C.UTF-8", 1);
  // Keys must not reach a real editor.
  ::setenv("EDITOR", "true", 1);
  ::setenv("VISUAL", "true", 1);
  ::unsetenv("LINES");
  ::unsetenv("COLUMNS");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

}  // namespace

Folder::Folder() {
  char name[] = "/tmp/rldb-pty-XXXXXX";
  if (!::mkdtemp(name)) std::abort();
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Terminal::Terminal(const std::string& program, const std::vector<std::string>& arguments, const std::string& home) {
  winsize size{24, 80, 0, 0};
  if (::openpty(&master_, &slave_, nullptr, nullptr, &size) != 0) {
    std::perror("openpty");
    std::exit(2);
  }
  ::fcntl(master_, F_SETFD, FD_CLOEXEC);
  ::fcntl(master_, F_SETFL, ::fcntl(master_, F_GETFL) | O_NONBLOCK);
  ::tcgetattr(slave_, &first_modes_);
  child_ = ::fork();
  if (child_ == 0) run_child(slave_, std::filesystem::absolute(program), arguments, home);
}

Terminal::~Terminal() {
  if (running()) {
    ::kill(child_, SIGKILL);
    ended();
  }
  ::close(master_);
  ::close(slave_);
}

// Reads once. False: there was no input.
bool Terminal::pump(int milliseconds) {
  pollfd p{master_, POLLIN, 0};
  if (::poll(&p, 1, milliseconds) <= 0) return false;
  char chunk[1 << 14];
  const ssize_t n = ::read(master_, chunk, sizeof chunk);
  if (n <= 0) return false;
  constexpr std::size_t kKept = std::size_t(1) << 20;
  said_.append(chunk, std::size_t(n));
  if (said_.size() > kKept) said_.erase(0, said_.size() / 2);
  return true;
}

std::size_t Terminal::piece_ = 256;

bool Terminal::send(const std::string& keys) {
  std::size_t done = 0;
  const double deadline = now() + 20;
  while (done < keys.size()) {
    while (pump(0)) {
    }
    if (!running() || now() > deadline) return false;
    const ssize_t n = ::write(master_, keys.data() + done, std::min(keys.size() - done, piece_));
    if (n > 0)
      done += std::size_t(n);
    else
      pump(10);
  }
  return true;
}

bool Terminal::wait_for(const std::string& text, double seconds) { return wait_for_after("", text, seconds); }

bool Terminal::wait_for_after(const std::string& first, const std::string& text, double seconds) {
  const auto there = [&] {
    const auto at = said_.find(first);
    return at != std::string::npos && said_.find(text, at + first.size()) != std::string::npos;
  };
  const double deadline = now() + seconds;
  while (!there()) {
    const double left = deadline - now();
    if (left <= 0) return false;
    if (!pump(int(std::min(left, 0.05) * 1000) + 1) && !running()) {
      read_last_words();
      return there();
    }
  }
  return true;
}

void Terminal::read_for(double seconds) {
  const double deadline = now() + seconds;
  while (now() < deadline) pump(int((deadline - now()) * 1000) + 1);
}

void Terminal::resize(unsigned short rows, unsigned short columns) {
  const winsize size{rows, columns, 0, 0};
  ::ioctl(master_, TIOCSWINSZ, &size);  // the kernel sends SIGWINCH
}

void Terminal::signal(int number) {
  if (running()) ::kill(child_, number);
}

bool Terminal::running() {
  if (status_) return false;
  int status = 0;
  const pid_t done = ::waitpid(child_, &status, WNOHANG);
  if (done == child_) status_ = status;
  return done == 0;
}

std::optional<int> Terminal::ended(double seconds) {
  const double deadline = now() + seconds;
  while (running() && now() < deadline) pump(5);
  if (status_) read_last_words();
  return status_;
}

// The kernel passes on what was written from a queue of its own, after the program has ended too: what we write behind
// it comes last.
void Terminal::read_last_words() {
  constexpr std::string_view kMark = "\036\036";
  if (std::exchange(heard_all_, true)) return;
  ::fcntl(slave_, F_SETFL, ::fcntl(slave_, F_GETFL) | O_NONBLOCK);
  while (pump(0)) {
  }
  if (::write(slave_, kMark.data(), kMark.size()) != ssize_t(kMark.size())) return;
  const double deadline = now() + 5;
  while (!said_.ends_with(kMark) && now() < deadline) pump(10);
  if (said_.ends_with(kMark)) said_.resize(said_.size() - kMark.size());
}

termios Terminal::modes() const {
  termios t{};
  ::tcgetattr(slave_, &t);
  return t;
}

bool same_modes(const termios& a, const termios& b) {
  return a.c_iflag == b.c_iflag && a.c_oflag == b.c_oflag && a.c_cflag == b.c_cflag && a.c_lflag == b.c_lflag &&
         std::memcmp(a.c_cc, b.c_cc, sizeof a.c_cc) == 0;
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace rldb::pty
