// Candidates answered by other ranks of the job (support/ranks.h): a program is sent as text, its symptom comes back.
// Room-private.
#pragma once

#include <vector>

#include "repro/reduce/child.h"
#include "rldb/repro/reduce.h"
#include "rldb/support/ranks.h"

namespace rldb::repro {

class OtherRanks {
 public:
  explicit OtherRanks(support::Ranks& ranks) : ranks_(ranks), working_on_(std::size_t(ranks.size())) {}

  // The rank that works on it now; nullopt: none is free.
  std::optional<int> give(const std::string& program);
  // The answer of that rank, when it has come.
  struct Heard {
    std::optional<Symptom> symptom;
  };
  std::optional<Heard> heard(int rank, std::size_t question);
  std::size_t last_question() const { return last_; }
  int others() const { return ranks_.size() - 1; }

 private:
  void listen();

  support::Ranks& ranks_;
  std::size_t last_ = 0;
  std::vector<std::size_t> working_on_;  // by rank: the question, 0: none
  std::vector<std::pair<std::size_t, Heard>> answers_;
};

// A symptom as bytes (child.cc), for a pipe or a message.
std::string to_wire(const std::optional<Symptom>& s);
std::optional<Symptom> from_wire(std::string_view bytes);
// Parts of bytes, each preceded by its length.
std::string to_parts(const std::vector<std::string>& parts);
std::optional<std::vector<std::string>> from_parts(std::string_view bytes);

}  // namespace rldb::repro
