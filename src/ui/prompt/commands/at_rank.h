// Other ranks of a stopped run: switching to one, and questions with `@N` behind what they ask about,
// expressions with names of several ranks.
#pragma once

#include <cstddef>
#include <string_view>

#include "rldb/session/process_group.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

// The rank's own run becomes the present one, where it was left; if it has none yet, it is run to the same place.
// False: diagnosed.
bool switch_rank(Repl& repl, std::size_t rank, source::Diagnostics& out);

// `a@1`, `why a[2]@1`: until the end of the scope the present run is that of the rank, which is taken off the text.
class AtRank {
 public:
  enum class About { Value, Past };
  AtRank(Repl& repl, std::string_view& text, About about);  // reports problems
  AtRank(Repl& repl, std::string_view& text, source::Diagnostics& out);
  ~AtRank();
  AtRank(const AtRank&) = delete;
  AtRank& operator=(const AtRank&) = delete;
  bool failed() const { return failed_; }  // diagnosed

 private:
  void enter(std::string_view& text, source::Diagnostics& out);
  void ask(session::ProcessGroup& job, std::size_t rank, std::string_view& text, std::string_view operand,
           source::Diagnostics& out);

  Repl& repl_;
  std::size_t before_;
  About about_;
  bool asked_ = false;  // the values of names are those of a rank of `mpirun`
  bool failed_ = false;
};

// `a + a@1`: until the end of the scope the names of other ranks in an expression have their values.
class RankValues {
 public:
  RankValues(Repl& repl, std::string_view text, source::Diagnostics& out);
  ~RankValues();
  RankValues(const RankValues&) = delete;
  RankValues& operator=(const RankValues&) = delete;
  bool failed() const { return failed_; }  // diagnosed

 private:
  Repl& repl_;
  bool failed_ = false;
};

// The value of an expression with either, in the frame that is shown; null: diagnosed.
std::optional<runtime::Value> evaluate_in_ranks(Repl& repl, std::string_view text, source::Diagnostics& out);

}  // namespace rldb::ui
