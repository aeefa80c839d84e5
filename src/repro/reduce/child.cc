// Questions evaluated in child processes and on other ranks, and their answers as bytes.
#include "repro/reduce/child.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "repro/other_ranks.h"
#include "rldb/support/cancel.h"

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

// The signal that ended a child without an answer. Its limits end it by signals too: that is not an answer.
std::optional<Symptom> symptom_of_signal(int signal) {
  if (signal == 0 || signal == SIGKILL || signal == SIGXCPU) return std::nullopt;
  return Symptom{SymptomKind::Signal, {}, std::to_string(signal), std::string("it ends by ") + ::strsignal(signal)};
}

std::optional<Symptom> symptom_from(ChildProcess& child) {
  const auto bytes = child.answer();
  return bytes ? from_wire(*bytes) : symptom_of_signal(child.signal());
}

}  // namespace

std::optional<Symptom> ask_in_child(const ChildLimits& limits, const std::function<std::optional<Symptom>()>& ask) {
  ChildProcess child(limits, [&ask] { return to_wire(ask()); });
  return symptom_from(child);
}

namespace {

// One candidate that is being tried, here or on another rank.
class Tried {
 public:
  Tried(const ChildLimits& limits, const Ask& ask, std::size_t index)
      : child_(std::make_unique<ChildProcess>(limits, [&ask, index] { return to_wire(ask(index)); })) {}
  Tried(const ChildLimits& limits, OtherRanks& ranks, int rank)
      : ranks_(&ranks),
        rank_(rank),
        question_(ranks.last_question()),
        deadline_(Clock::now() + std::chrono::milliseconds(std::int64_t(limits.seconds * 1000)) + kOnTheWay) {}

  bool is_here() const { return child_ != nullptr; }
  std::optional<Symptom> answer() {
    if (child_) return symptom_from(*child_);
    while (Clock::now() < deadline_) {
      support::poll();
      if (const auto heard = ranks_->heard(rank_, question_)) {
        is_lost_ = heard->empty();
        return from_wire(*heard);
      }
      wait_for_messages();
    }
    is_lost_ = true;
    return std::nullopt;
  }
  // The other rank has left, or could not look: that says nothing about the candidate.
  bool is_lost() const { return is_lost_; }

 private:
  static constexpr auto kOnTheWay = std::chrono::seconds(10);
  std::unique_ptr<ChildProcess> child_;
  OtherRanks* ranks_ = nullptr;
  int rank_ = 0;
  std::size_t question_ = 0;
  Clock::time_point deadline_;
  bool is_lost_ = false;
};

// None: no other rank is free, or it cannot be sent the program.
std::optional<int> given_to(const Elsewhere& elsewhere, std::size_t index) {
  if (!elsewhere.ranks || !elsewhere.ranks->is_one_free()) return std::nullopt;
  const auto program = elsewhere.program(index);
  return program ? elsewhere.ranks->give(*program) : std::nullopt;
}

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
      if (const auto rank = given_to(elsewhere, next)) {
        running.emplace_back(limits, *elsewhere.ranks, *rank);
        continue;
      }
      if (children >= here) break;
      running.emplace_back(limits, ask, next);
      ++children;
    }
    auto answer = running.front().answer();
    if (running.front().is_lost()) answer = Tried(limits, ask, i).answer();
    children -= running.front().is_here();
    running.pop_front();
    if (answered) answered(answer);
    if (answer && wanted(*answer)) first = i;
  }
  if (elsewhere.ranks) elsewhere.ranks->forget();
  return first;
}

}  // namespace rldb::repro
