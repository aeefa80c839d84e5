// Work of a search shared by the ranks of a job (support/ranks.h). Rank 0 has the search: it sends questions as bytes,
// and the others, which read the same files, send answers. Room-private.
#pragma once

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
  // The answer of that rank, when it has come; empty: it has none, or it has left.
  std::optional<std::string> heard(int rank, std::size_t question);
  std::size_t last_question() const { return last_; }
  int others() const { return ranks_.size() - 1; }
  bool any() const;  // that has not left
  // The answers to all questions so far that were not heard are of no interest.
  void forget();
  // Ends their `answer_rank_0`.
  void end();

 private:
  struct State {
    std::size_t question = 0;  // that it works on; 0: none
    bool left = false;
  };
  void listen();

  support::Ranks& ranks_;
  std::size_t last_ = 0;
  std::vector<State> states_;  // by rank
  std::set<std::size_t> wanted_;
  std::vector<std::pair<std::size_t, std::string>> answers_;
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

// A moment without messages: a rank that waits leaves its core to others.
void wait_for_messages();

}  // namespace rldb::repro
