// The smallest program with the same symptom.
//
// Moves that know the IR generate candidates; each is well-formed and typed before it is tried, and is tried in a child
// process with limits of time and memory, several at once. The first of them, in their order, that shows the symptom is
// where the next moves start from: the result is the same on every run. Big steps come before small ones (passes, cuts
// of the body, halves of its bindings, single bindings, dims), and it ends when no move helps any more. Users: the
// commands.
#pragma once

#include <functional>

#include "rldb/repro/oracle.h"

namespace rldb::support {
class Ranks;
}

namespace rldb::repro {

struct ProgramSize {
  std::size_t functions = 0;
  std::size_t bindings = 0;
  std::size_t statements = 0;  // of kernels
  std::size_t constants = 0;   // elements of those that are not numbers
  std::size_t parameters = 0;  // of Relax functions
  std::size_t symbols = 0;     // symbolic dims of their signatures
  std::size_t nodes = 0;       // of kernels
  std::size_t attributes = 0;  // of functions, and non-default ones of calls
  std::size_t blocks = 0;      // dataflow blocks
  std::size_t elements = 0;    // of the parameters' static dims, summed: shrinking dims reduces it
};
ProgramSize size_of(ir::Context& ctx, const ir::Module* module);
std::string to_string(const ProgramSize& s);

// The module of a text that reads, but breaks rules of the verifier; the session then holds it. Null: the text is
// something else.
const ir::Module* read_ill_formed(session::Session& session, const std::string& path, source::Diagnostics& broken);

struct ReduceOptions {
  unsigned jobs = 1;
  double candidate_seconds = 10;
  double seconds = 0;  // in all; 0: no limit
  // Called after each candidate; `move` is empty for one that was not accepted.
  std::function<void(const ProgramSize& size, std::size_t tried, const std::string& move)> progress;
  // The job whose other ranks try candidates too; each of them is in `answer_other_ranks`. Null: there is none.
  support::Ranks* ranks = nullptr;
  // Called with each smaller program: a reduction that is killed leaves the last one.
  std::function<void(const ir::Module* module)> better;
};

// The outcome, whatever the kind of the program.
struct ReductionFacts {
  std::string passes;               // the rest of the pipeline
  std::vector<std::string> inputs;  // the given ones that it still takes, or simpler ones than the generated; as texts
  Symptom symptom;
  std::string why;
  ProgramSize before, after;
  std::size_t tried = 0, accepted = 0;
  bool complete = false;    // no move helps any more; false: stopped by time or ^C
  bool ill_formed = false;  // the first program breaks rules, and so may the others
  // Changes of the last round, none of which was accepted: how many, and why.
  struct Refused {
    std::size_t not_smaller = 0, ill_formed = 0, without_symptom = 0, other_symptom = 0;
    std::string other;  // an example of another symptom
  };
  Refused refused;
};
struct Reduction : ReductionFacts {
  const ir::Module* module = nullptr;  // null: there is no symptom to keep
};

Reduction reduce(session::Session& session, const ir::Module* module, const Question& question,
                 const ReduceOptions& options);
// On a rank other than 0, with the question that rank 0 has: answers it for each program that comes, until the end.
void answer_other_ranks(session::Session& session, const Question& question, support::Ranks& ranks,
                        double candidate_seconds);
void end_other_ranks(support::Ranks& ranks);   // on rank 0
std::string to_json(const ReductionFacts& r);  // without the module
// One sentence: it is minimal, or why it may not be; what was tried where nothing was accepted.
std::string minimality(const ReductionFacts& r);

}  // namespace rldb::repro
