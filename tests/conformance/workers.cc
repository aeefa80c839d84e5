// Worker processes: the parent hands out case numbers over a pipe, the worker answers with one line per case.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>

#include "conformance/conformance.h"

namespace rldb::conformance {

namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
  pid_t pid = -1;
  int to = -1;
  int from = -1;
  long current = -1;  // case in progress
  Clock::time_point started;
  std::string partial;
};

[[noreturn]] void serve(const std::vector<Case>& cases, int in, int out) {
  std::uint32_t number = 0;
  while (::read(in, &number, sizeof number) == sizeof number) {
    Outcome outcome;
    try {
      outcome = run_case(cases[number]);
    } catch (const std::exception& e) {
      outcome = {false, std::string("internal error: ") + e.what()};
    }
    for (char& c : outcome.reason)
      if (c == '\n') c = ' ';
    const std::string line = (outcome.passed ? "1" : "0") + outcome.reason + "\n";
    if (::write(out, line.data(), line.size()) != ssize_t(line.size())) break;
  }
  ::_exit(0);
}

void start(Worker& w, const std::vector<Case>& cases, const std::vector<Worker>& all) {
  int down[2], up[2];
  if (::pipe(down) != 0 || ::pipe(up) != 0) ::_exit(3);
  w.pid = ::fork();
  if (w.pid == 0) {
    for (const Worker& other : all) {
      if (other.to >= 0) ::close(other.to);
      if (other.from >= 0) ::close(other.from);
    }
    ::close(down[1]);
    ::close(up[0]);
    serve(cases, down[0], up[1]);
  }
  ::close(down[0]);
  ::close(up[1]);
  w.to = down[1];
  w.from = up[0];
  w.current = -1;
  w.partial.clear();
}

void stop(Worker& w, bool kill) {
  if (w.pid < 0) return;
  if (kill) ::kill(w.pid, SIGKILL);
  ::close(w.to);
  ::close(w.from);
  w.to = w.from = -1;
}

std::string cause_of_death(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) return std::string("crashed: ") + ::strsignal(WTERMSIG(status));
  return "the worker left with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::vector<Outcome> run_cases(const std::vector<Case>& cases, int workers, double seconds) {
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<Outcome> outcomes(cases.size());
  std::vector<Worker> pool{std::size_t(workers)};
  std::size_t next = 0, done = 0;
  const auto give = [&](Worker& w) {
    if (next == cases.size()) return;
    if (w.pid < 0) start(w, cases, pool);
    const auto number = std::uint32_t(next++);
    w.current = long(number);
    w.started = Clock::now();
    if (::write(w.to, &number, sizeof number) != sizeof number) w.started = {};  // dead: noticed below
  };
  const auto bury = [&](Worker& w, std::string why) {
    stop(w, true);
    const std::string cause = cause_of_death(w.pid);
    outcomes[std::size_t(w.current)] = {false, why.empty() ? cause : why};
    ++done;
    w.pid = -1;
    w.current = -1;
    give(w);
  };
  for (Worker& w : pool) give(w);
  while (done < cases.size()) {
    std::vector<pollfd> fds;
    std::vector<Worker*> owners;
    for (Worker& w : pool)
      if (w.current >= 0) {
        fds.push_back({w.from, POLLIN, 0});
        owners.push_back(&w);
      }
    ::poll(fds.data(), fds.size(), 200);
    for (std::size_t i = 0; i < fds.size(); ++i) {
      Worker& w = *owners[i];
      if (fds[i].revents == 0) {
        const double limit = seconds * cases[std::size_t(w.current)].patience;
        if (std::chrono::duration<double>(Clock::now() - w.started).count() > limit) bury(w, "timed out");
        continue;
      }
      char chunk[4096];
      const ssize_t n = ::read(w.from, chunk, sizeof chunk);
      if (n <= 0) {
        bury(w, "");
        continue;
      }
      w.partial.append(chunk, std::size_t(n));
      if (!w.partial.ends_with('\n')) continue;
      outcomes[std::size_t(w.current)] = {w.partial[0] == '1', w.partial.substr(1, w.partial.size() - 2)};
      w.partial.clear();
      w.current = -1;
      ++done;
      give(w);
    }
  }
  for (Worker& w : pool) {
    stop(w, false);
    if (w.pid > 0) ::waitpid(w.pid, nullptr, 0);
  }
  return outcomes;
}

}  // namespace rldb::conformance
