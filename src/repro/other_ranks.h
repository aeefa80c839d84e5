// Work of a search shared by the ranks of a job (support/ranks.h). Rank 0 has the search: it sends questions as bytes,
// and the others, which read the same files, send answers. Room-private.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/support/ranks.h"

namespace rldb::repro {

// On rank 0.
class OtherRanks {
 public:
  explicit OtherRanks(support::Ranks& ranks) : ranks_(ranks), states_(std::size_t(ranks.size())) {}

  // That a question can be given to: those that are long to make need not be made.
  bool is_one_free();
  // The rank that works on it now; nullopt: none is free.
  std::optional<int> give(const std::string& question);
  // The answer of that rank, when it has come. Empty: it has none, it has left, or it takes much longer than the others
  // did; then it gets no further question before it has answered this one.
  std::optional<std::string> heard(int rank, std::size_t question);
  // This rank has answered a question of the same kind itself.
  void took(std::chrono::nanoseconds time) { longest_ = std::max(longest_, time); }
  std::size_t last_question() const { return last_; }
  int others() const { return ranks_.size() - 1; }
  bool any() const;  // that has not left, and is not late
  // The answers to all questions so far that were not heard are of no interest.
  void forget();
  // Ends their `answer_rank_0`.
  void end();

 private:
  struct State {
    std::size_t question = 0;  // that it works on; 0: none
    std::chrono::steady_clock::time_point since;
    bool left = false;
  };
  void listen();
  bool is_late(const State& state) const;

  support::Ranks& ranks_;
  std::size_t last_ = 0;
  std::vector<State> states_;  // by rank
  std::set<std::size_t> wanted_;
  std::vector<std::pair<std::size_t, std::string>> answers_;
  std::chrono::nanoseconds longest_{0};  // until an answer
};

using Answer = std::function<std::string(const std::string& question)>;

// On another rank: answers until the search ends. An exception of `answer` is no answer, except that it is cancelled.
void answer_rank_0(support::Ranks& ranks, const Answer& answer);

// On rank 0 (`others` is null in a process that is alone): the answers, in order. Each rank takes the next question
// when it is free, this process too, by `here`. `decides`: with this answer those after it are not needed, and may be
// empty.
std::vector<std::string> ask_all(OtherRanks* others, const std::vector<std::string>& questions, const Answer& here,
                                 const std::function<bool(const std::string& answer)>& decides = {});

// Parts of bytes, each preceded by its length.
std::string to_parts(const std::vector<std::string>& parts);
std::optional<std::vector<std::string>> from_parts(std::string_view bytes);

// This rank does the work of that one: `silent_ranks`.
void note_silent(int rank);

// A moment without messages: a rank that waits leaves its core to others.
void wait_for_messages();

}  // namespace rldb::repro
