// Differences that no computation makes: a call that passes other values than on the first side, a variable that is
// bound to another part of a tuple, a function that returns other variables.
//
// Where a computation is the same on both sides and reads other values, its variables are followed to where they got
// them: out of a function to the call, out of a call to what the callee returns, as long as the text is the same on
// both sides. User: compare.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "repro/compare/match.h"
#include "rldb/repro/compare.h"

namespace rldb::repro {

// Some of its results are its arguments, overwritten.
bool is_in_place(const ir::Call& call);
bool makes_closure(const ir::Call& call);

class HandedOn {
 public:
  HandedOn(const Trace& a, const Trace& b, const Matcher& matcher);
  // Behind a first difference whose inputs are right; nullopt: it is where it was found.
  std::optional<FirstDifference> behind(const FirstDifference& d) const;
  // The event of the first side that has the place of this one of the second; kNoEvent: none.
  std::size_t at_place_of(std::size_t of_b) const;
  // A tensor of the result that is right, but another one than on the first side.
  std::optional<FirstDifference> in_result(std::size_t leaf) const;

 private:
  using Key = std::tuple<std::string, std::size_t, std::string>;  // function, activation, name
  using Index = std::map<Key, const Handed*>;
  struct Pair {
    const Handed* a;
    const Handed* b;
  };
  static Index index_of(const Trace& t);
  // Of a parameter: the expression it was given, and where that is written (what a closure captures: where it is made).
  struct Argument {
    const ir::Expr* value = nullptr;
    const Handed* at = nullptr;
  };
  static Argument argument_of(const Index& index, const Handed& h);
  std::optional<Pair> pair(const std::string& function, std::size_t activation, const std::string& name) const;
  bool is_other(const Pair& p, std::size_t leaf) const;
  bool gives_others(const Pair& p) const;
  bool has_right_one(const Pair& p) const;
  bool is_same_computation(std::size_t of_b) const;
  std::optional<FirstDifference> became_a_part(const Event& reader) const;
  std::optional<FirstDifference> by_name_of_parameter(const FirstDifference& d, const Event& y) const;
  std::optional<FirstDifference> given_another(const FirstDifference& d, const Event& y) const;
  std::optional<FirstDifference> given_to_program(const FirstDifference& d, const Event& y) const;
  std::optional<FirstDifference> follow(const Pair& p, int depth) const;
  std::optional<FirstDifference> follow_names(const ir::Expr* value, const std::string& function,
                                              std::size_t activation, int depth) const;
  std::optional<FirstDifference> to_call(const Pair& p, int depth) const;
  std::optional<FirstDifference> to_value(const Pair& p, int depth) const;
  std::optional<FirstDifference> to_branch(const Pair& p, const ir::If& was, const ir::If& is, int depth) const;
  std::optional<FirstDifference> to_return(const Pair& p, int depth) const;
  FirstDifference found(const Pair& p, const std::string& function, std::string how) const;

  const Trace& a_;
  const Trace& b_;
  const Matcher& matcher_;
  Index of_a_, of_b_;
  std::map<Key, std::size_t> events_of_a_;
  mutable std::set<const Handed*> followed_;  // each once: tuples share parts
};

}  // namespace rldb::repro
