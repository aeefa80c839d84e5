// Validation of a pass: the module before and after, run on the same made-up inputs at boundary dims, must agree.
//
// Both sides run twice: on the evaluator as they are, so that a fault of one of the lowering passes cannot hide on both
// sides, and on the machine, lowered and (engine jit) compiled.
#pragma once

#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

struct Validation {
  std::string difference;             // the first one: function, dims, where and both values; empty: none was seen
  bool over_nothing = false;          // values differ, and the tensors of the program have no elements
  std::vector<std::string> compared;  // functions that ran to their ends on both sides, at one choice of dims at least
  std::vector<std::string> not_run;   // the others, each with its reason: `main (its inputs cannot be made up)`
  std::vector<std::string> in_part;   // of `compared`, what ran in one of the two ways only, with the reason
};

// Runs every public Relax function of `before` that has a namesake in `after`, with symbolic dims 1, 2, 7, 16, 17 and 0
// in turn, until values differ. Cancelled leaves the session's history and options as they were.
Validation validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after);

// Every public Relax function of the current version, as it is on the evaluator (the reference), lowered on the engines
// vm and jit, and lowered on the evaluator: a fault of a pass, of the machine or of the code generator is a difference.
Validation validate_engines(session::Session& session);

// "same values", "nothing was compared", or the difference; then what was not run.
std::string to_string(const Validation& v);

}  // namespace rldb::repro
