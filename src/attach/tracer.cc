// ptrace: seizing, stopping and resuming threads, and telling their stops apart.
#include "attach/tracer.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <utility>

#include "attach/process_memory.h"
#include "rldb/support/cancel.h"

namespace rldb::attach {

namespace {

constexpr int kSystemCall = SIGTRAP | 0x80;
constexpr int kPolls = 20, kPollNanoseconds = 50'000, kLookAfter = 1000;
constexpr std::chrono::seconds kPatience(3);

long trace(int request, pid_t thread, std::uintptr_t at = 0, std::uintptr_t data = 0) {
  return ::ptrace(__ptrace_request(request), thread, at, data);
}

int event_of(int status) { return status >> 16; }

bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool at_entry(pid_t thread) {
  __ptrace_syscall_info info{};
  return trace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, reinterpret_cast<std::uintptr_t>(&info)) > 0 &&
         info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

// Ended, while other threads of the process live on.
bool is_dead(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  std::string text;
  std::getline(file, text);
  const std::size_t at = text.rfind(") ");
  return at == std::string::npos || at + 2 >= text.size() || text[at + 2] == 'Z' || text[at + 2] == 'X';
}

void sleep_briefly() {
  const timespec time{0, kPollNanoseconds};
  ::nanosleep(&time, nullptr);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace

bool Tracer::seize(pid_t thread) {
  constexpr std::uintptr_t kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
  if (trace(PTRACE_SEIZE, thread, 0, kOptions) != 0) return false;
  threads_[thread];
  return true;
}

std::string Tracer::attach() {
  for (bool more = true; more;) {
    more = false;
    for (const pid_t thread : threads_of(process_)) {
      if (threads_.count(thread)) continue;
      if (seize(thread)) {
        more = true;
        continue;
      }
      const int why = errno;
      if ((why == ESRCH && thread != process_) || is_dead(process_, thread)) continue;  // it has ended meanwhile
      detach();
      return why == ESRCH   ? "it has ended"
             : why == EPERM ? "it belongs to another user, or is traced already"
                            : std::strerror(why);
    }
  }
  if (threads_.empty()) return "it has ended";
  stop();
  return ended() ? ended_ : std::string();
}

void Tracer::end(std::string how) {
  if (ended_.empty()) ended_ = std::move(how);
  threads_.clear();
}

bool Tracer::any_running() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& t) { return t.second.state == State::Running; });
}

void Tracer::detach() {
  if (threads_.empty()) return;
  if (any_running()) stop();
  for (auto& [thread, t] : threads_) trace(PTRACE_DETACH, thread, 0, std::uintptr_t(t.signal));
  threads_.clear();
}

bool Tracer::write(Address at, std::uint64_t word) {
  for (const auto& [thread, t] : threads_)
    if ((t.state == State::Stopped || t.state == State::Held) && trace(PTRACE_POKEDATA, thread, at, word) == 0)
      return true;
  return false;
}

void Tracer::go_on(pid_t thread, Thread& t) {
  if (t.state == State::Gone) return;
  if (t.state == State::Held) {
    t.state = State::Listening;
    trace(PTRACE_LISTEN, thread);
    return;
  }
  t.state = State::Running;
  trace(at_gates_ ? PTRACE_SYSCALL : PTRACE_CONT, thread, 0, std::uintptr_t(std::exchange(t.signal, 0)));
}

void Tracer::resume(bool at_gates) {
  at_gates_ = at_gates;
  for (auto& [thread, t] : threads_)
    if (t.state == State::Stopped || t.state == State::Held) go_on(thread, t);
}

void Tracer::resume_thread(pid_t thread) {
  const auto it = threads_.find(thread);
  if (it != threads_.end() && it->second.state == State::Stopped) go_on(thread, it->second);
}

// Every thread is told; each stops for that or for another reason, which is remembered.
void Tracer::stop() {
  for (auto& [thread, t] : threads_)
    if (t.state == State::Running || t.state == State::Listening) trace(PTRACE_INTERRUPT, thread);
  for (auto& [thread, t] : threads_)
    if (t.state == State::Listening) t.state = State::Running;
  const auto latest = std::chrono::steady_clock::now() + kPatience;
  for (int idle = 0; any_running();) {
    // One that waits in the kernel, as behind vfork, cannot be stopped: it is left alone.
    if (support::cancel_flag() || std::chrono::steady_clock::now() > latest) {
      std::erase_if(threads_, [](const auto& t) { return t.second.state == State::Running; });
      return;
    }
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
    if (thread > 0) {
      take(thread, status, {}, true);
    } else if (thread < 0 && errno == ECHILD) {
      return end("it has ended");
    } else {
      sleep_briefly();
      if (++idle % kLookAfter == 0)
        std::erase_if(threads_, [this](const auto& t) {
          return t.second.state == State::Running && t.first != process_ && is_dead(process_, t.first);
        });
      if (idle % kLookAfter == 0 && is_dead(process_, process_)) leader_gone();
    }
  }
}

// The first thread has ended and others live on: it reports nothing until the process ends.
void Tracer::leader_gone() {
  const auto it = threads_.find(process_);
  if (it != threads_.end()) it->second.state = State::Gone;
}

void Tracer::set_stopped(Thread& t, int status) {
  t.state = State::Stopped;
  const int signal = WSTOPSIG(status), event = event_of(status);
  if (event == PTRACE_EVENT_STOP && is_stop_signal(signal)) t.state = State::Held;
  if (event == 0 && signal != kSystemCall) t.signal = signal;
}

Tracer::Event Tracer::take(pid_t thread, int status, const IsGate& is_gate, bool stopping) {
  Event e;
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    threads_.erase(thread);
    if (thread != process_) return e;
    end(WIFEXITED(status) ? fmt::format("it has ended with exit code {}", WEXITSTATUS(status))
                          : fmt::format("it was ended by {}", signal_name(WTERMSIG(status))));
    return {Event::Kind::Ended, thread};
  }
  if (!WIFSTOPPED(status)) return e;
  Thread& t = threads_[thread];
  set_stopped(t, status);
  unsigned long born = 0;  // it reports its own beginning
  if (event_of(status) == PTRACE_EVENT_CLONE &&
      trace(PTRACE_GETEVENTMSG, thread, 0, reinterpret_cast<std::uintptr_t>(&born)) == 0 && born != 0)
    threads_[pid_t(born)];
  if (event_of(status) == PTRACE_EVENT_EXEC) {
    trace(PTRACE_DETACH, thread);
    end("it runs another program now");
    return {Event::Kind::Ended, thread};
  }
  const bool gate = event_of(status) == 0 && WSTOPSIG(status) == kSystemCall && at_entry(thread);
  if (stopping) {
    if (gate) waiting_.push_back(thread);
    return e;
  }
  if (gate && is_gate(thread)) return {Event::Kind::Gate, thread};
  go_on(thread, t);
  return e;
}

Tracer::Event Tracer::wait(const IsGate& is_gate) {
  for (int i = 0; i < kPolls;) {
    if (threads_.empty()) break;
    int status = 0;
    const pid_t thread = ::waitpid(-1, &status, __WALL | __WNOTHREAD | WNOHANG);
    if (thread > 0) {
      const Event e = take(thread, status, is_gate, false);
      if (e.kind != Event::Kind::Nothing) return e;
      continue;
    }
    if (thread < 0 && errno == ECHILD) break;
    if (i++ > 2) sleep_briefly();
  }
  if (threads_.empty()) {
    end("it has ended");
    return {Event::Kind::Ended, process_};
  }
  return {};
}

std::vector<pid_t> Tracer::take_waiting() { return std::exchange(waiting_, {}); }

}  // namespace rldb::attach
