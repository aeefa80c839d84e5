// The names of functions that were inlined into the one that runs: which call of theirs a place belongs to, and what
// the call gave for a parameter. Provenance tells that code serves a binding of an inlined function, not for which of
// several calls; of these the latest that was reached counts. User: ValueFinder.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "debug/look/code_map.h"
#include "rldb/ir/module.h"

namespace rldb::debug {

class InlinedCalls {
 public:
  // At a place in `function`: `here` is the binding at which it is, perhaps one of an inlined function (-1: before
  // all); `at_end`: it returns next.
  InlinedCalls(const CodeMap& map, FunctionIndex function, Pc pc, int here, bool at_end);

  // Bindings of that name in inlined functions, those of the one at the place first.
  std::vector<int> bindings(std::string_view name) const;
  bool contains(int binding) const { return functions_.contains(map_.binding(binding).function); }
  bool is_reached(int binding) const;
  // The parameter of the inlined function at the place; null: it has none of that name.
  const ir::Var* parameter(std::string_view name) const;
  // The argument of the call for a parameter of an inlined function; null: it is none.
  const ir::Expr* argument(const ir::Var* parameter) const;
  // The parameter and the dimension of its shape that a symbol of an inlined function stands for.
  struct Dimension {
    const ir::Var* parameter = nullptr;
    std::size_t dimension = 0;
  };
  Dimension dimension(const ir::Var* symbol) const;
  // The call, in the function that runs, behind which the place is; -1: none.
  int call_here() const;
  // `block, inlined at y`
  std::string place(int binding) const;

 private:
  using Chain = std::vector<int>;  // calls, from the function's own inwards
  const ir::Function* written(std::string_view function) const;
  std::vector<Chain> chains_to(std::string_view function, int depth) const;
  bool was_passed(const Chain& chain) const;
  // The latest that was reached, else the first; empty: it is not called.
  Chain chosen(std::string_view function) const;
  Chain at_place() const;

  const CodeMap& map_;
  std::string own_;
  int here_;
  bool at_end_;
  std::size_t passed_ = 0;  // how often code of the binding at the place has begun up to it
  std::set<std::string, std::less<>> functions_;
};

}  // namespace rldb::debug
