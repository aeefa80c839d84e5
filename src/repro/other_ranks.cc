// The two ends of a question to another rank.
#include "repro/other_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "rldb/repro/leave_job.h"
#include "rldb/repro/reduce.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

namespace {

constexpr ::useconds_t kBetweenLooks = 500;
constexpr std::string_view kEnd = "end";    // of a search; of another rank: it answers nothing more
constexpr std::string_view kLeft = "left";  // of another rank: it ends
// A rank is late after this time, and after that of the longest answer so often: it hangs, or its machine does.
constexpr auto kPatience = std::chrono::seconds(5);
constexpr int kTimesLongest = 2;
// A rank that is asked to end may have to finish an answer.
constexpr auto kToLeave = std::chrono::seconds(10);
using Clock = std::chrono::steady_clock;

// Ranks of the job of this process.
struct Absent {
  std::set<int> silent, left;
};
Absent& absent() {
  static Absent made;
  return made;
}

std::size_t question_number(const std::string& text) {
  std::size_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n);
  return n;
}

// Leaving before rank 0 has ended the search: it need not wait for this rank.
class Leaving {
 public:
  explicit Leaving(support::Ranks& ranks) : ranks_(ranks) {}
  ~Leaving() {
    if (!ended_) ranks_.send(0, kEnd);
  }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  void ended() { ended_ = true; }

 private:
  support::Ranks& ranks_;
  bool ended_ = false;
};

std::string answer_or_none(const Answer& answer, const std::string& question) {
  try {
    return answer(question);
  } catch (const support::Cancelled&) {
    throw;
  } catch (const std::exception&) {  // rank 0 finds it by itself
    return {};
  }
}

}  // namespace

const std::set<int>& silent_ranks() { return absent().silent; }
void note_silent(int rank) { absent().silent.insert(rank); }

void wait_for_messages() { ::usleep(kBetweenLooks); }

std::string to_parts(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) (out += std::to_string(part.size()) + ":") += part;
  return out;
}

std::optional<std::vector<std::string>> from_parts(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), length);
    if (error != std::errc() || end == bytes.data() + bytes.size() || *end != ':') return std::nullopt;
    bytes.remove_prefix(std::size_t(end - bytes.data()) + 1);
    if (length > bytes.size()) return std::nullopt;
    out.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return out;
}

void OtherRanks::listen() {
  while (auto message = ranks_.receive()) {
    State& state = states_[std::size_t(message->from)];
    absent().silent.erase(message->from);
    if (message->bytes == kLeft) absent().left.insert(message->from);
    if (message->bytes == kEnd || message->bytes == kLeft) {
      if (wanted_.contains(state.question)) answers_.emplace_back(state.question, std::string());
      state = {0, {}, true};
      continue;
    }
    auto parts = from_parts(message->bytes);
    if (!parts || parts->size() != 2) continue;
    const std::size_t question = question_number((*parts)[0]);
    if (state.question == question) {
      took(Clock::now() - state.since);
      state.question = 0;
    }
    if (wanted_.contains(question)) answers_.emplace_back(question, std::move((*parts)[1]));
  }
}

bool OtherRanks::is_one_free() {
  listen();
  return std::any_of(states_.begin() + 1, states_.end(), [](const State& s) { return s.question == 0 && !s.left; });
}

std::optional<int> OtherRanks::give(const std::string& question) {
  listen();
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    State& state = states_[std::size_t(rank)];
    if (state.question != 0 || state.left) continue;
    if (!ranks_.post(rank, to_parts({std::to_string(++last_), question}))) return std::nullopt;
    state.question = last_;
    state.since = Clock::now();
    wanted_.insert(last_);
    return rank;
  }
  return std::nullopt;
}

bool OtherRanks::is_late(const State& state) const {
  return Clock::now() - state.since > std::max<std::chrono::nanoseconds>(kPatience, kTimesLongest * longest_);
}

std::optional<std::string> OtherRanks::heard(int rank, std::size_t question) {
  listen();
  const State& state = states_[std::size_t(rank)];
  const auto it = std::find_if(answers_.begin(), answers_.end(), [&](const auto& a) { return a.first == question; });
  if (it == answers_.end() && state.left) return std::string();
  if (it == answers_.end() && state.question == question && is_late(state)) {
    wanted_.erase(question);
    note_silent(rank);
    return std::string();
  }
  if (it == answers_.end()) return std::nullopt;
  std::string found = std::move(it->second);
  answers_.erase(it);
  wanted_.erase(question);
  return found;
}

bool OtherRanks::any() const {
  return std::any_of(states_.begin() + 1, states_.end(),
                     [this](const State& s) { return !s.left && !(s.question != 0 && is_late(s)); });
}

void OtherRanks::forget() {
  wanted_.clear();
  answers_.clear();
}

void OtherRanks::end() { end_other_ranks(ranks_); }

void end_other_ranks(support::Ranks& ranks) {
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.post(rank, std::string(kEnd));
}

void leave_job(support::Ranks& ranks) {
  if (ranks.rank() > 0) {
    ranks.send(0, kLeft);
    return;
  }
  end_other_ranks(ranks);
  std::vector<int> missing;
  for (int rank = 1; rank < ranks.size(); ++rank) missing.push_back(rank);
  for (const auto end = Clock::now() + kToLeave; Clock::now() < end; wait_for_messages()) {
    while (const auto message = ranks.receive()) {
      if (message->bytes == kLeft) absent().left.insert(message->from);
      absent().silent.erase(message->from);
    }
    std::erase_if(missing, [](int rank) { return absent().left.contains(rank); });
    if (missing.empty()) return;
  }
  for (const int rank : missing) note_silent(rank);
  ranks.abandon();
}

void answer_rank_0(support::Ranks& ranks, const Answer& answer) {
  Leaving leaving(ranks);
  for (;;) {
    support::poll();
    const auto message = ranks.receive();
    if (!message) {
      wait_for_messages();
      continue;
    }
    if (message->bytes == kEnd) return leaving.ended();
    const auto parts = from_parts(message->bytes);
    if (!parts || parts->size() != 2) continue;
    ranks.send(message->from, to_parts({(*parts)[0], answer_or_none(answer, (*parts)[1])}));
  }
}

namespace {

// One call of `ask_all`.
class Asking {
 public:
  Asking(OtherRanks* others, const std::vector<std::string>& questions, const Answer& here,
         const std::function<bool(const std::string&)>& decides)
      : others_(others), questions_(questions), here_(here), decides_(decides), answers_(questions.size()) {}

  std::vector<std::string> run() {
    while (!is_over()) {
      support::poll();
      while (next_ < questions_.size() && give()) {
      }
      collect();
      if (is_over()) break;
      if (next_ < questions_.size() && (here_ || !others_->any()))
        answer_here(next_++);
      else
        wait_for_messages();
    }
    if (others_) others_->forget();
    std::vector<std::string> out;
    for (auto& a : answers_) out.push_back(a ? std::move(*a) : std::string());
    return out;
  }

 private:
  struct Given {
    std::size_t index;
    int rank;
    std::size_t question;
  };

  // All those in order are known, or those up to one that decides.
  bool is_over() {
    for (; known_ < answers_.size() && answers_[known_]; ++known_)
      if (decides_ && decides_(*answers_[known_])) return true;
    return known_ == answers_.size();
  }

  bool give() {
    const auto rank = others_ ? others_->give(questions_[next_]) : std::nullopt;
    if (!rank) return false;
    given_.push_back({next_++, *rank, others_->last_question()});
    return true;
  }

  void collect() {
    std::vector<std::size_t> without;
    std::erase_if(given_, [&](const Given& g) {
      auto heard = others_->heard(g.rank, g.question);
      if (!heard) return false;
      if (heard->empty())
        without.push_back(g.index);
      else
        answers_[g.index] = std::move(*heard);
      return true;
    });
    for (const std::size_t index : without) answer_here(index);
  }

  void answer_here(std::size_t index) {
    const Clock::time_point begin = Clock::now();
    answers_[index] = here_ ? here_(questions_[index]) : std::string();
    if (others_) others_->took(Clock::now() - begin);
  }

  OtherRanks* others_;
  const std::vector<std::string>& questions_;
  const Answer& here_;
  const std::function<bool(const std::string&)>& decides_;
  std::vector<std::optional<std::string>> answers_;
  std::vector<Given> given_;
  std::size_t next_ = 0, known_ = 0;
};

}  // namespace

std::vector<std::string> ask_all(OtherRanks* others, const std::vector<std::string>& questions, const Answer& here,
                                 const std::function<bool(const std::string&)>& decides) {
  return Asking(others, questions, here, decides).run();
}

}  // namespace rldb::repro
