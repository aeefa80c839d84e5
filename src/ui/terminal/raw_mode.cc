// Sets and restores terminal attributes, from signal handlers as well.
#include "rldb/ui/terminal/raw_mode.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string_view>
#include <utility>

#include "rldb/runtime/foreign_code.h"
#include "ui/terminal/terminal_output.h"

namespace rldb::ui {

namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kCrashCount = sizeof kCrashes / sizeof *kCrashes;

constexpr std::string_view kShowAlternate = "\033[?1049h\033[H\033[2J", kLeaveAlternate = "\033[?1049l";

// For the handlers: there is one terminal, with one set of modes.
termios g_before, g_raw;
pid_t g_process = 0;  // owner of the terminal; a child forked meanwhile leaves it alone
int g_holders = 0;
int g_interrupt_keys = 0;  // how many want ^C as a key
bool g_paste = false;
bool g_alternate = false;
volatile std::sig_atomic_t g_screen_lost = 0;
struct sigaction g_actions[kCrashCount];

termios raw_modes() {
  termios modes = g_raw;
  if (g_interrupt_keys > 0) modes.c_cc[VINTR] = _POSIX_VDISABLE;
  return modes;
}

void set_raw_modes(int when) {
  const termios modes = raw_modes();
  ::tcsetattr(STDIN_FILENO, when, &modes);
}

void restore() {
  if (g_paste) write_terminal("\033[?2004l");
  g_paste = false;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_before);
}

// Not the previous actions: those of guarded kernel calls would pass a fault back to this one.
void on_crash(int signal) {
  const int error = errno;
  restore_terminal();
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  ::raise(signal);
  errno = error;
}

// ^Z while an entry is executed in screen mode.
void on_stop(int signal) {
  if (::getpid() != g_process) return;
  const int error = errno;
  restore_terminal();
  stop_process(signal);
  if (g_holders > 0) set_raw_modes(TCSADRAIN);
  if (g_alternate) write_terminal(kShowAlternate);
  g_screen_lost = 1;
  errno = error;
}

void hold() {
  g_raw = g_before;
  g_raw.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | IXON | INPCK | ISTRIP);
  g_raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN);
  g_raw.c_oflag |= OPOST | ONLCR;
  g_raw.c_cc[VMIN] = 0;  // a ^C may empty the queue between a poll and the read that follows
  g_raw.c_cc[VTIME] = 0;
  g_process = ::getpid();
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t i = 0; i < kCrashCount; ++i) ::sigaction(kCrashes[i], &action, &g_actions[i]);
  runtime::foreign_code_has_run();  // kernels look for their handlers again
  set_raw_modes(TCSADRAIN);         // type-ahead is kept
}

}  // namespace

RawMode::RawMode(bool bracketed_paste) : paste_(bracketed_paste) { enter(); }
RawMode::~RawMode() { leave(); }

void RawMode::enter() {
  if (on_) return;
  if (g_holders == 0) {
    if (::tcgetattr(STDIN_FILENO, &g_before) != 0) return;
    hold();
  }
  ++g_holders;
  on_ = true;
  g_paste = g_paste || paste_;
  if (paste_) write_terminal("\033[?2004h");
}

void RawMode::end_pastes() {
  if (!on_ || !paste_ || !g_paste) return;
  write_terminal("\033[?2004l");
  g_paste = false;
}

void RawMode::leave() {
  if (!on_) return;
  on_ = false;
  if (paste_ && std::exchange(g_paste, false)) write_terminal("\033[?2004l");
  if (--g_holders > 0) return;
  restore();
  for (std::size_t i = 0; i < kCrashCount; ++i) ::sigaction(kCrashes[i], &g_actions[i], nullptr);
  runtime::foreign_code_has_run();
}

InterruptAsKey::InterruptAsKey() {
  ++g_interrupt_keys;
  if (g_holders > 0) set_raw_modes(TCSANOW);
}

InterruptAsKey::~InterruptAsKey() {
  --g_interrupt_keys;
  if (g_holders > 0) set_raw_modes(TCSANOW);
}

bool InterruptAsKey::is(char key) {
  const cc_t interrupt = g_raw.c_cc[VINTR];
  return g_holders > 0 && interrupt != _POSIX_VDISABLE && static_cast<cc_t>(key) == interrupt;
}

void show_alternate_screen() {
  if (!std::exchange(g_alternate, true)) write_terminal(kShowAlternate);
}

void leave_alternate_screen() {
  if (std::exchange(g_alternate, false)) write_terminal(kLeaveAlternate);
}

StopsInWork::StopsInWork() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, SIGCONT);  // one that arrives before it has stopped is seen
  ::sigaction(SIGTSTP, &action, &before_);
}

StopsInWork::~StopsInWork() { ::sigaction(SIGTSTP, &before_, nullptr); }

bool take_screen_lost() {
  const bool lost = g_screen_lost != 0;
  g_screen_lost = 0;
  return lost;
}

void stop_process(int signal) {
  sigset_t waiting;
  ::sigpending(&waiting);
  if (sigismember(&waiting, SIGCONT)) return;
  struct sigaction plain {
  }, mine{};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, &mine);
  ::raise(signal);
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, signal);
  ::sigprocmask(SIG_UNBLOCK, &stop, &before);  // it stops here
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::sigaction(signal, &mine, nullptr);
}

void restore_terminal() {
  if (::getpid() != g_process) return;
  if (g_alternate) write_terminal(kLeaveAlternate);
  if (g_holders > 0) restore();
}

}  // namespace rldb::ui
