// Which pass, and which of its rewrites, made a binding of the present version or of the code; what it made it from,
// and so on back to the text. Of an element: of the binding whose code wrote it last.
//
// A pass has made a binding if the version before it does not have it; what it came from is known by provenance. The
// rewrite is the first one with which the pass, run again on the version before, makes the binding as it is: known for
// passes that count their rewrites (rldb/support/rewrite_counter.h). User: `:blame`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

struct BlameStep {
  std::size_t depth = 0;                    // steps of depth d + 1 after one of depth d: what it was made from
  std::string text;                         // the binding
  std::string pass;                         // that made it; empty: it is as it was written
  bool by_build = false;                    // one of the passes of the build
  std::uint64_t rewrite = 0, rewrites = 0;  // which of the pass, from 1; 0: not known
  std::string rule;                         // in the pass's words: `merges lv3 into lv1`
  std::string file;                         // of a binding as it was written; empty: not known
  std::uint32_t line = 0;
  bool anew = false;  // the pass has no origin for it
};

struct Blame {
  std::string function, name;
  std::string writer;  // of an element: `x[2] = 3.0, by k at time 8 (i = 2)`
  std::vector<BlameStep> steps;
};

// `target`: `lv1`, `main:lv1`, or at a stop an element, `lv1[2, 3]`. Nullopt: diagnosed.
std::optional<Blame> blame(Debugger& debugger, std::string_view target, int frame, source::Diagnostics& out);
std::vector<std::string> lines_of(const Blame& blame);

}  // namespace rldb::debug
