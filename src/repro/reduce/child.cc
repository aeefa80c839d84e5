// A question evaluated in a child process with limits, and its answer as bytes.
#include "repro/reduce/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "repro/other_ranks.h"
#include "rldb/support/cancel.h"
#include "rldb/support/folder.h"

namespace rldb::repro {

// One that is present begins with `+`.
std::string to_wire(const std::optional<Symptom>& s) {
  if (!s) return "-";
  return "+" + to_parts({std::string(to_string(s->kind)), s->pass, s->id, s->text, s->form, std::to_string(s->amount),
                         std::to_string(s->limit)});
}

static bool read_number(const std::string& text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// None: a child ended in the middle of its answer.
std::optional<Symptom> from_wire(std::string_view bytes) {
  if (!bytes.starts_with('+')) return std::nullopt;
  const auto parts = from_parts(bytes.substr(1));
  if (!parts || parts->size() != 7) return std::nullopt;
  const auto kind = parse_symptom_kind((*parts)[0]);
  if (!kind) return std::nullopt;
  Symptom s{*kind, (*parts)[1], (*parts)[2], (*parts)[3], (*parts)[4]};
  return read_number((*parts)[5], s.amount) && read_number((*parts)[6], s.limit) ? std::optional(s) : std::nullopt;
}

namespace {

using Clock = std::chrono::steady_clock;

void write_all(int fd, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return;
    done += std::size_t(n);
  }
}

class Child {
 public:
  Child(const ChildLimits& limits, const std::function<std::optional<Symptom>()>& ask)
      : deadline_(Clock::now() + std::chrono::milliseconds(std::int64_t(limits.seconds * 1000))) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) be_child(ends[1], limits, scratch_.path(), ask);
    ::close(ends[1]);
    fd_ = ends[0];
  }
  ~Child() {
    if (fd_ >= 0) ::close(fd_);
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Its answer, or nullopt when it dies or is too slow.
  std::optional<Symptom> answer() {
    std::string bytes;
    while (fd_ >= 0) {
      support::poll();
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) return std::nullopt;
      ::pollfd wait{fd_, POLLIN, 0};
      if (::poll(&wait, 1, int(std::min<std::int64_t>(left, 100))) <= 0) continue;
      char buffer[4096];
      const ssize_t n = ::read(fd_, buffer, sizeof buffer);
      if (n <= 0) break;
      bytes.append(buffer, std::size_t(n));
    }
    return bytes.empty() ? signal_that_ended_it() : from_wire(bytes);
  }

 private:
  // The signal that ended a child without an answer. Its limits end it by signals too: that is not an answer.
  std::optional<Symptom> signal_that_ended_it() {
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
    pid_ = -1;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == 0 || signal == SIGKILL || signal == SIGXCPU) return std::nullopt;
    return Symptom{SymptomKind::Signal, {}, std::to_string(signal), std::string("it ends by ") + ::strsignal(signal)};
  }

  [[noreturn]] static void be_child(int fd, const ChildLimits& limits, const std::string& scratch,
                                    const std::function<std::optional<Symptom>()>& ask) {
    ::setpgid(0, 0);
    if (!scratch.empty()) ::setenv("TMPDIR", scratch.c_str(), 1);
    const auto seconds = rlim_t(std::ceil(limits.seconds)) + 1;
    const ::rlimit cpu{seconds, seconds};
    ::setrlimit(RLIMIT_CPU, &cpu);
    const ::rlimit core{0, 0};
    ::setrlimit(RLIMIT_CORE, &core);
    try {
      write_all(fd, to_wire(ask()));
    } catch (...) {  // a bug triggered by this candidate is not the one being searched for
    }
    ::_exit(0);
  }

  // The child's temporary files, and those of the commands it runs: a child that is killed removes nothing.
  support::TemporaryFolder scratch_{"candidate"};
  Clock::time_point deadline_;
  pid_t pid_ = -1;
  int fd_ = -1;
};

}  // namespace

std::optional<Symptom> ask_in_child(const ChildLimits& limits, const std::function<std::optional<Symptom>()>& ask) {
  return Child(limits, ask).answer();
}

namespace {

// One candidate that is being tried, here or on another rank.
class Tried {
 public:
  Tried(const ChildLimits& limits, const Ask& ask, std::size_t index)
      : child_(std::make_unique<Child>(limits, [&ask, index] { return ask(index); })) {}
  Tried(const ChildLimits& limits, OtherRanks& ranks, int rank)
      : ranks_(&ranks),
        rank_(rank),
        question_(ranks.last_question()),
        deadline_(Clock::now() + std::chrono::milliseconds(std::int64_t(limits.seconds * 1000)) + kOnTheWay) {}

  bool is_here() const { return child_ != nullptr; }
  std::optional<Symptom> answer() {
    if (child_) return child_->answer();
    while (Clock::now() < deadline_) {
      support::poll();
      if (const auto heard = ranks_->heard(rank_, question_)) return from_wire(*heard);
      wait_for_messages();
    }
    return std::nullopt;
  }

 private:
  static constexpr auto kOnTheWay = std::chrono::seconds(10);
  std::unique_ptr<Child> child_;
  OtherRanks* ranks_ = nullptr;
  int rank_ = 0;
  std::size_t question_ = 0;
  Clock::time_point deadline_;
};

}  // namespace

std::optional<std::size_t> first_with(const IsWanted& wanted, std::size_t count, unsigned jobs,
                                      const ChildLimits& limits, const Ask& ask,
                                      const std::function<void(const std::optional<Symptom>& answer)>& answered,
                                      const Elsewhere& elsewhere) {
  const std::size_t here = std::max(1u, jobs);
  std::deque<Tried> running;
  std::size_t next = 0, children = 0;
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < count && !first; ++i) {
    for (; next < count; ++next) {
      if (const auto rank = elsewhere.ranks ? elsewhere.ranks->give(elsewhere.program(next)) : std::nullopt) {
        running.emplace_back(limits, *elsewhere.ranks, *rank);
        continue;
      }
      if (children >= here) break;
      running.emplace_back(limits, ask, next);
      ++children;
    }
    const auto answer = running.front().answer();
    children -= running.front().is_here();
    running.pop_front();
    if (answered) answered(answer);
    if (answer && wanted(*answer)) first = i;
  }
  if (elsewhere.ranks) elsewhere.ranks->forget();
  return first;
}

}  // namespace rldb::repro
