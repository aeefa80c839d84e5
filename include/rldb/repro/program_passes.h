// The questions about passes, asked of the session's program, whatever its kind. Users: the commands.
#pragma once

#include <string>
#include <string_view>

#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/validate.h"

namespace rldb::repro {

// The program's present version against another one, or two modules of its kind and the names of the passes between
// them.
Validation validate_program(session::Session& session, std::size_t before);
Validation validate_program(session::Session& session, pipeline::ModuleRef before, pipeline::ModuleRef after,
                            std::string_view passes);

// Which pass, and which of its rewrites, introduces a fault: for the reader. Without versions, which are modules of the
// program's kind.
struct ProgramBisection {
  enum class Verdict : std::uint8_t { None, Found, CannotTell } verdict = Verdict::CannotTell;
  std::string why;
  std::string pass;
  Symptom symptom;
  std::string text, json;              // several lines; the text without the last line break
  std::vector<runtime::Value> values;  // arguments on which it shows; empty: those of the question
  std::string without, with;  // texts of the program before and after what is responsible; empty: there are none
};
// False: the question is not about a program of this kind, or its pipeline is wrong, which is diagnosed.
bool can_bisect(session::Session& session, const Question& question, source::Diagnostics& out);
ProgramBisection bisect_program(session::Session& session, const Question& question,
                                const BisectProgress& progress = {}, support::Ranks* ranks = nullptr);

// The smallest program found with the fault. It has become a version of the session's program.
struct ProgramReduction : ReductionFacts {
  bool found = false;  // false: there is no symptom to keep, `why` says it
  std::string text;    // of the program, with its constants
};
ProgramReduction reduce_program(session::Session& session, const Question& question, const ReduceOptions& options);

}  // namespace rldb::repro
