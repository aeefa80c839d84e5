#include "ui/term/raw_mode.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

namespace rldb::ui {

namespace {

constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kCrashCount = sizeof kCrashes / sizeof *kCrashes;

// For the handler: the terminal is one, and so is its raw mode.
termios g_before;
bool g_paste = false;
struct sigaction g_actions[kCrashCount];

void put(std::string_view bytes) {
  // What a terminal does not take is not missed.
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
}

void restore() {
  if (g_paste) put("\033[?2004l");
  g_paste = false;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_before);
}

void on_crash(int signal) {
  const int error = errno;
  restore();
  for (std::size_t i = 0; i < kCrashCount; ++i)
    if (kCrashes[i] == signal) ::sigaction(signal, &g_actions[i], nullptr);
  ::raise(signal);
  errno = error;
}

}  // namespace

RawMode::RawMode(bool bracketed_paste) : paste_(bracketed_paste) { enter(); }
RawMode::~RawMode() { leave(); }

void RawMode::enter() {
  if (on_ || ::tcgetattr(STDIN_FILENO, &g_before) != 0) return;
  termios raw = g_before;
  raw.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | IXON | INPCK | ISTRIP);
  raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN);
  raw.c_oflag |= OPOST | ONLCR;
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  g_paste = paste_;
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t i = 0; i < kCrashCount; ++i) ::sigaction(kCrashes[i], &action, &g_actions[i]);
  // What was typed ahead stays.
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  if (paste_) put("\033[?2004h");
  on_ = true;
}

void RawMode::end_pastes() {
  if (on_ && g_paste) put("\033[?2004l");
  g_paste = false;
}

void RawMode::leave() {
  if (!on_) return;
  restore();
  for (std::size_t i = 0; i < kCrashCount; ++i) ::sigaction(kCrashes[i], &g_actions[i], nullptr);
  on_ = false;
}

}  // namespace rldb::ui
