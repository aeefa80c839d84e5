// Other inputs for two programs that agree on the first ones: those of a bisection of two stages. Room-private.
//
// Only a difference of the whole programs is one. A kernel or a computation that differs by itself, on numbers that the
// programs were not seen to give it, is a note: the programs may be equal all the same.
#pragma once

#include <chrono>

#include "rldb/repro/bisect.h"

namespace rldb::repro {

inline constexpr const char* kSearchEnded = "the search for other inputs was ended before all were tried";
inline constexpr const char* kSearchOutOfMemory = "the search for other inputs ended at the memory limit";

// A part of the programs that differs by itself, in words; empty: none does.
std::string differs_by_itself(const TraceBisection& found);
// Dims as the given tensors have them, and all of them if the default is not the usual one: somebody chose it. The same
// of the seed.
void keep_given(session::Options& options, const ir::Function* f, Followed& what);

struct SearchOptions {
  Tolerances tolerances;
  bool shadow = false;             // rounding is no difference
  std::chrono::microseconds took;  // by the comparison so far, of this process; after a long one nothing is searched
};

// `c`: the comparison of two programs on `inputs`. Where no difference was found, others are tried in the place of
// generated ones: `c` and `inputs` become those that show one, and `c` says what was tried.
void search_inputs(session::Session& session, const Program& a, const Program& b, ComparedInputs& inputs,
                   const SearchOptions& options, Comparison& c);

// The same of two stages with one function, `what.function`. The programs with the inputs on which they differ;
// nullopt: none were found.
struct SearchedPair {
  Stage a, b;
  Followed what;
};
std::optional<std::pair<Program, Program>> search_inputs(session::Session& session, SearchedPair pair,
                                                         const SearchOptions& options, Comparison& c);

}  // namespace rldb::repro
