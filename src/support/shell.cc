// Runs a shell in a process of its own, and checks the cancellation flag while waiting for it.
#include "rldb/support/shell.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "rldb/support/cancel.h"

namespace rldb::support {

namespace {

// While a command has the terminal, ^C and ^\ belong to it.
class KeysForOthers {
 public:
  explicit KeysForOthers(bool on) : on_(on) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    if (on_) ::sigaction(SIGINT, &ignore, &interrupt_);
    if (on_) ::sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~KeysForOthers() {
    if (on_) ::sigaction(SIGINT, &interrupt_, nullptr);
    if (on_) ::sigaction(SIGQUIT, &quit_, nullptr);
  }
  KeysForOthers(const KeysForOthers&) = delete;
  KeysForOthers& operator=(const KeysForOthers&) = delete;

 private:
  bool on_;
  struct sigaction interrupt_ {
  }, quit_{};
};

[[noreturn]] void become_shell(const char* command) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGXFSZ}) ::sigaction(signal, &usual, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  ::_exit(127);
}

bool g_keeps_group = false;

void pause_for(long microseconds) {
  const timespec time{0, microseconds * 1000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

int run_shell(const std::string& command) {
  const bool has_terminal = ::isatty(STDIN_FILENO);
  const bool own_group = !has_terminal && !g_keeps_group;
  const KeysForOthers keys(has_terminal);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (own_group) ::setpgid(0, 0);
    become_shell(command.c_str());
  }
  if (own_group) ::setpgid(child, child);
  int status = 0;
  for (long wait = 200;; wait = std::min(2 * wait, 20'000L)) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return -1;
    if (cancel_flag()) break;
    pause_for(wait);
  }
  ::kill(own_group ? -child : child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

void keep_commands_in_group() { g_keeps_group = true; }

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace rldb::support
