// Validation of a pass: the module before and after, run on the same generated inputs at boundary dims, must agree.
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
  std::vector<std::string> compared;  // functions that ran to the end on both sides, for at least one choice of dims
  std::vector<std::string> not_run;   // the others, each with its reason: `main (no inputs can be generated)`
  // If something was compared: functions that could not be run, but are the same, with all that they call.
  std::vector<std::string> unchanged;
  // Of `compared`, those that differ by no more than the precision to which a pass converts them explains, with the
  // format: `main (float16)`.
  std::vector<std::string> lowered;
  std::vector<std::string> in_part;  // of `compared`, those that ran in only one of the two ways, with the reason
};

// Runs every public Relax function of `before` that has a namesake in `after`, with symbolic dims 1, 2, 7, 16, 17 and 0
// in turn, until values differ; of a module without Relax functions every public PrimFunc. `passes`: the pipeline
// between the two; where one of them lowers the precision, the program as it was is run in that precision, and its
// error is the measure. Cancelled leaves the session's history and options as they were.
Validation validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after,
                             std::string_view passes = {});

// Every public Relax function of the current version, as it is on the evaluator (the reference), lowered on the engines
// vm and jit, and lowered on the evaluator: a fault of a pass, of the machine or of the code generator is a difference.
Validation validate_engines(session::Session& session);

// "same values", "nothing was compared", or the difference; then what was not run.
std::string to_string(const Validation& v);

}  // namespace rldb::repro
