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
#include <memory>
#include <string_view>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

using Clock = std::chrono::steady_clock;

// Parts of an answer, each preceded by its length: texts contain any bytes. One that is present begins with `+`.
std::string to_wire(const std::optional<Symptom>& s) {
  if (!s) return "-";
  std::string out = "+";
  const std::string kind(to_string(s->kind)), held = std::to_string(s->bytes), limit = std::to_string(s->limit);
  for (const std::string* part : {&kind, &s->pass, &s->id, &s->text, &s->form, &held, &limit})
    (out += std::to_string(part->size()) + ":") += *part;
  return out;
}

// Takes a number and the byte after it off the front. False: there is none.
bool take_number(std::string_view& bytes, std::size_t& number) {
  const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
  if (error != std::errc() || end == bytes.data() + bytes.size()) return false;
  bytes.remove_prefix(std::size_t(end - bytes.data()) + 1);
  return true;
}

bool read_number(const std::string& text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// None: a child ended in the middle of its answer.
std::optional<Symptom> from_wire(std::string_view bytes) {
  if (!bytes.starts_with('+')) return std::nullopt;
  bytes.remove_prefix(1);
  Symptom s;
  std::string kind, held, limit;
  for (std::string* part : {&kind, &s.pass, &s.id, &s.text, &s.form, &held, &limit}) {
    std::size_t length = 0;
    if (!take_number(bytes, length) || length > bytes.size()) return std::nullopt;
    *part = bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  const auto known = parse_symptom_kind(kind);
  if (!known || !read_number(held, s.bytes) || !read_number(limit, s.limit)) return std::nullopt;
  s.kind = *known;
  return s;
}

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
    if (pid_ == 0) be_child(ends[1], limits, ask);
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

  [[noreturn]] static void be_child(int fd, const ChildLimits& limits,
                                    const std::function<std::optional<Symptom>()>& ask) {
    ::setpgid(0, 0);
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

  Clock::time_point deadline_;
  pid_t pid_ = -1;
  int fd_ = -1;
};

}  // namespace

std::optional<Symptom> ask_in_child(const ChildLimits& limits, const std::function<std::optional<Symptom>()>& ask) {
  return Child(limits, ask).answer();
}

std::optional<std::size_t> first_with(const IsWanted& wanted, std::size_t count, unsigned jobs,
                                      const ChildLimits& limits, const Ask& ask,
                                      const std::function<void(const std::optional<Symptom>& answer)>& answered) {
  const std::size_t width = std::max(1u, jobs);
  std::vector<std::unique_ptr<Child>> running;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t next = i + running.size(); next < count && running.size() < width; ++next)
      running.push_back(std::make_unique<Child>(limits, [&] { return ask(next); }));
    const auto answer = running.front()->answer();
    running.erase(running.begin());
    if (answered) answered(answer);
    if (answer && wanted(*answer)) return i;
  }
  return std::nullopt;
}

}  // namespace rldb::repro
