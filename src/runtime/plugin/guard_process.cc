// Forking, the socket, shared memory, and how the end of the child is reported.
#include "runtime/plugin/guard_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rldb/runtime/foreign_code.h"
#include "rldb/support/cancel.h"
#include "runtime/plugin/wire.h"

namespace rldb::runtime {

namespace {

// Texts, descriptions of arguments, tensors of results; those of arguments go through shared memory.
constexpr std::uint64_t kMaxMessage = std::uint64_t(4) << 30;
constexpr int kLookMilliseconds = 20;  // between two checks of the interrupt flag

bool g_in_guard = false;

Error system_error(std::string_view what) {
  return {ErrorKind::Unsupported, fmt::format("cannot start a guard process: {}: {}", what, std::strerror(errno)), {}};
}

void leave(int status, void*) { ::_exit(status & 0xff); }

void close_others(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  unsigned first = 3;
  for (const int fd : keep) {
    if (unsigned(fd) > first) ::close_range(first, unsigned(fd) - 1, 0);
    first = std::max(first, unsigned(fd) + 1);
  }
  ::close_range(first, ~0U, 0);
}

// Disables things that a fork must not do in the name of the session.
void become_guard(pid_t parent, const std::vector<int>& keep) {
  g_in_guard = true;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  // `exit` in foreign code: the session's own exit handlers are registered before this one, and so do not run.
  ::on_exit(leave, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGPIPE})
    ::signal(signal, SIG_DFL);
  foreign_code_has_run();     // kernels install their handlers again
  ::signal(SIGINT, SIG_IGN);  // ^C is for the session
  support::clear_cancel();
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) ::dup2(null, STDIN_FILENO);
  if (!keep.empty()) close_others(keep);
}

void run_body(const GuardProcess::Body& body, Channel& channel) {
  std::string why;
  try {
    body(channel);
    return;
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
    why = "an exception";
  }
  send_error(channel, {ErrorKind::Raised, why, {}});
}

std::string_view signal_words(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "an access to memory that is not its own";
    case SIGBUS:
      return "a bus error";
    case SIGFPE:
      return "an arithmetic fault";
    case SIGILL:
      return "an illegal instruction";
    case SIGABRT:
      return "it aborted";
    case SIGKILL:
      return "it was killed";
    default:  // any other number that the system defines
      return "";
  }
}

std::string describe_status(int status) {
  if (WIFEXITED(status)) return fmt::format("ended its process with exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = ::sigabbrev_np(signal);
  const std::string_view words = signal_words(signal);
  return fmt::format("crashed with {}{}", name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal),
                     words.empty() ? "" : fmt::format(" ({})", words));
}

bool read_error(std::string_view payload, Error& error) {
  WireReader in(payload);
  const std::uint64_t kind = in.word();
  error.kind = kind <= std::uint64_t(ErrorKind::Raised) ? ErrorKind(kind) : ErrorKind::Raised;
  error.message = in.text();
  for (std::uint64_t n = in.count(); n > 0 && in.good(); --n) error.notes.emplace_back(in.text());
  return in.done();
}

}  // namespace

bool in_guard_process() { return g_in_guard; }
bool Isolation::enabled() const { return on && *on && !g_in_guard; }

// ---- channel ----

Channel::~Channel() { ::close(fd_); }

bool Channel::send(Word word, std::string_view payload) {
  if (payload.size() > kMaxMessage) return false;
  WireWriter head;
  head.word(std::uint64_t(word));
  head.word(payload.size());
  for (std::string_view rest : {std::string_view(head.bytes()), payload}) {
    while (!rest.empty()) {
      const ssize_t n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      rest.remove_prefix(std::size_t(n));
    }
  }
  return true;
}

// It stays a child to wait for.
bool Channel::peer_has_ended() const {
  siginfo_t info{};
  return peer_ > 0 && ::waitid(P_PID, id_t(peer_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == peer_;
}

bool Channel::read_all(void* to, std::size_t bytes, const std::atomic<bool>* interrupt, bool& interrupted) {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    if (interrupt && interrupt->load(std::memory_order_relaxed)) {
      interrupted = true;
      return false;
    }
    pollfd ready{fd_, POLLIN, 0};
    const bool gone = peer_has_ended();  // before the look at what it has sent
    const int count = ::poll(&ready, 1, interrupt || peer_ > 0 ? kLookMilliseconds : -1);
    if (count == 0 && gone) return false;
    if (count == 0 || (count < 0 && errno == EINTR)) continue;
    const ssize_t n = ::recv(fd_, next, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    next += n;
    bytes -= std::size_t(n);
  }
  return true;
}

Channel::Got Channel::receive(Word& word, std::string& payload, const std::atomic<bool>* interrupt) {
  std::uint64_t head[2] = {};
  bool interrupted = false;
  if (!read_all(head, sizeof head, interrupt, interrupted)) return interrupted ? Got::Interrupted : Got::End;
  if (head[0] > std::uint64_t(Word::Failed) || head[1] > kMaxMessage) return Got::End;
  word = Word(head[0]);
  payload.resize(head[1]);
  if (!read_all(payload.data(), payload.size(), interrupt, interrupted))
    return interrupted ? Got::Interrupted : Got::End;
  return Got::Message;
}

// ---- processes ----

Result<std::unique_ptr<GuardProcess>> GuardProcess::start(const Body& body, std::vector<int> keep) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return support::Failure(system_error("socket"));
  std::fflush(nullptr);  // or both would write the buffers' contents
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    Error error = system_error("fork");
    ::close(ends[0]);
    ::close(ends[1]);
    return support::Failure(std::move(error));
  }
  if (pid > 0) {
    ::close(ends[1]);
    return std::unique_ptr<GuardProcess>(new GuardProcess(pid, ends[0]));
  }
  ::close(ends[0]);
  if (!keep.empty()) keep.push_back(ends[1]);
  become_guard(parent, keep);
  Channel channel(ends[1]);
  run_body(body, channel);
  std::fflush(nullptr);
  ::_exit(0);
}

std::string GuardProcess::end() {
  if (pid_ < 0) return "has ended";
  // Dead already, or to be killed: a guard that is still alive has been told to exit, or hangs.
  int status = 0;
  pid_t ended = 0;
  for (int look = 0; look < 10 && ended == 0; ++look) {
    ended = ::waitpid(pid_, &status, WNOHANG);
    if (ended == 0) ::usleep(2000);
  }
  if (ended == 0) {
    ::kill(pid_, SIGKILL);
    while ((ended = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  const bool known = ended == pid_;
  pid_ = -1;
  return known ? describe_status(status) : "has ended";
}

GuardProcess::~GuardProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// ---- answers ----

void send_error(Channel& channel, const Error& error) {
  WireWriter out;
  out.word(std::uint64_t(error.kind));
  out.text(error.message);
  out.word(error.notes.size());
  for (const std::string& note : error.notes) out.text(note);
  channel.send(Word::Failed, out.bytes());
}

Result<std::string> await_answer(std::unique_ptr<GuardProcess>& guard, const Isolation& isolation,
                                 std::string_view what) {
  Word word{};
  std::string payload;
  while (true) {
    switch (guard->channel().receive(word, payload, isolation.interrupt)) {
      case Channel::Got::Interrupted:
        guard.reset();
        return fail(ErrorKind::Interrupted, fmt::format("interrupted in {}", what));
      case Channel::Got::End: {
        const std::string how = guard->end();
        guard.reset();
        Error error{ErrorKind::Raised, fmt::format("{} {}", what, how), {}};
        error.notes.emplace_back("it ran in a guard process (`isolate` is on): nothing that it wrote was kept");
        return support::Failure(std::move(error));
      }
      case Channel::Got::Message:
        break;
    }
    if (word == Word::Output) {
      if (isolation.output && *isolation.output) (*isolation.output)->write(payload);
      continue;
    }
    if (word == Word::Done) return payload;
    Error error;
    if (word == Word::Failed && read_error(payload, error)) return support::Failure(std::move(error));
    guard.reset();
    return fail(ErrorKind::Raised, fmt::format("{} overwrote memory of its guard process", what));
  }
}

}  // namespace rldb::runtime
