// Finds the pass that made a program wrong.
//
// A dump: its stages are run on the same inputs and compared with the first one, until one differs; the stage before
// and that stage are then compared tensor by tensor, and the storage of the wrong one is inspected. A change to the
// meaning of the inputs or constants on the way (parameters bound, data of constants left out) restarts the comparison
// there, and is reported.
//
// A pipeline of ours: the first pass whose result shows the symptom, then the first of the rewrites of that pass
// (rldb/passes/rewrite_counter.h). Users: the commands.
//
// `ranks` (null: there is no job) share the work. All of them call the same function with the same arguments: rank 0
// gets the answer, and the others return, with nothing, when it has it.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "rldb/repro/compare.h"
#include "rldb/repro/dump.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/sanitize.h"
#include "rldb/repro/tried.h"
#include "rldb/schedule/schedule.h"
#include "rldb/support/ranks.h"

namespace rldb::repro {

// Reported as work goes on: `done` of `count` stages, passes or kernels; `what` is the next one.
using BisectProgress = std::function<void(std::size_t done, std::size_t count, std::string_view what)>;

// Two versions of a kernel give different results for the same arguments.
struct KernelDifference {
  std::string kernel;
  std::size_t good = 0, bad = 0;  // stages
  std::string buffer;             // of the first parameter that differs
  std::optional<TensorDifference> difference;
  std::string why;  // the second one fails
  std::string numbers, dims;
  bool large = false;              // it shows only as an overflow
  bool callers_rewritten = false;  // a function that calls it is another one too
  Program good_program, bad_program;
};

// A kernel that changed in a stage, and was not compared with its version before.
struct KernelNotRun {
  std::string kernel;
  std::size_t stage = 0;
  std::string why;
};

struct TraceBisection {
  enum class Verdict { Agree, Found, CannotTell } verdict = Verdict::CannotTell;
  std::string why;
  std::vector<Stage> stages;
  std::size_t good = 0, bad = 0;  // Found: the last stage that agrees with the first, and the one after it that runs
  std::string function;
  std::string dims;    // symbolic ones, as they were
  bool large = false;  // it shows only with large numbers, through an overflow
  // The values of the first stage that ran against the expected ones (Found): no pass of the folder is to blame.
  std::optional<TensorDifference> from_expected;
  std::optional<std::size_t> first_compared;  // with expected values: the stage that was compared with them
  bool lost_assertion = false;                // the stage before is stopped by an assertion
  bool behind_nan = false;  // the results are NaN on both sides, and the difference is in the values before them
  // The whole programs agree; this binding, run by itself on numbers of this kind, does not. Empty: it was not needed.
  std::string by_itself, numbers;
  std::size_t by_themselves = 0, not_by_themselves = 0;  // computations compared so; those for which no time was left
  // Kernels that changed, each run by itself on arguments of its own.
  std::optional<KernelDifference> kernel;     // Found: the whole programs agree, or cannot be run
  std::vector<std::string> kernels_compared;  // names
  std::vector<KernelNotRun> kernels_not_run;
  Comparison comparison;              // of these two
  Program good_program, bad_program;  // as they were run; their modules are null unless a stage was found
  // Found, by a run of whole programs: the arguments of the first stage that runs. Empty: it was compared anew since.
  std::vector<runtime::Value> arguments;
  std::vector<Finding> memory;        // what the wrong one does to its storage; Agree: the last one
  std::vector<std::string> compared;  // functions
  std::vector<std::string> alone;     // functions on which no two stages could be compared, with the reason
  std::vector<std::string> notes;     // where the comparison restarted, and why
  std::set<std::string> in_doubt;     // stages whose error is neither that of such a pass nor clearly another
  std::set<std::size_t> anew;         // the stages at which it restarted
  // The first stage that is equal only within the tolerance, by more than ordinary rounding, and by how much.
  std::optional<std::pair<std::size_t, TensorDifference>> rounding;
  std::size_t runs = 0;
  // Stages of long runs that were not run because a later one agrees: a fault that is undone there does not show.
  std::size_t passed_over = 0;
  TriedInputs tried;
  // Functions that could not be run, but are the same in all stages, with all that they call.
  std::vector<std::string> unchanged;
};

// The parts of the first stage that are run, and their inputs.
struct Followed {
  std::string function;             // empty: each public one
  std::vector<std::string> inputs;  // as texts; the others are generated
  // Values of the result, leaf by leaf, as a framework computed them: the first stage that runs is compared with these.
  std::vector<runtime::Value> expected;
  // The file of the module before the first pass, or empty. It is the first stage: a fault of the first pass shows, and
  // constants whose data the folder lacks have its values.
  std::string original;
  // Given values of parameters, by name: they stay in every round.
  std::map<std::string, runtime::Value, std::less<>> values;
  bool keep_seed = false;  // the seed was chosen: no round has another
  // Whether a difference of the whole programs counts, or the search goes on. Null: each does.
  std::function<bool(const Program& good, const Program& bad)> counts;
};

TraceBisection bisect_trace(session::Session& session, const std::string& folder, const Tolerances& tolerances,
                            const Followed& what = {}, const BisectProgress& progress = {},
                            support::Ranks* ranks = nullptr);

// Two stages of one folder; the second runs on the first one's inputs, rearranged for its parameters and constants.
struct StageComparison {
  Comparison comparison;
  Program a, b;  // as they were run; their modules are null unless both ran
};
StageComparison compare_stages(session::Session& session, std::vector<Stage> stages, std::size_t a, std::size_t b,
                               const Followed& what, const Tolerances& tolerances, bool shadow);

// Folders of two pipelines of one program: each by itself, and, when both are correct in themselves, one after the
// other.
struct FolderBisection {
  TraceBisection first, second;
  std::optional<TraceBisection> both;
  TraceBisection::Verdict verdict() const;
};
FolderBisection bisect_two_traces(session::Session& session, const std::string& first, const std::string& second,
                                  const Tolerances& tolerances, const Followed& what = {},
                                  const BisectProgress& progress = {}, support::Ranks* ranks = nullptr);

struct PassBisection {
  enum class Verdict { None, Found, CannotTell } verdict = Verdict::CannotTell;
  std::string why;
  std::size_t index = 0, count = 0;  // of the pass, from 0, and of all passes
  passes::PassInvocation pass;
  Symptom symptom;
  bool runs = false;      // before the first pass, or values were not requested
  bool unstable = false;  // the pass gives another program each time
  // Passes right before this one (None: at the end) whose results could not be compared, with the reason.
  std::vector<std::pair<std::string, std::string>> passed_by;
  TriedInputs tried;
  std::vector<std::string> notes;      // of the search for inputs
  std::vector<runtime::Value> values;  // that it found: the first program's arguments; empty: the question's own
  std::vector<std::string> meant;      // passes before it that change values by their nature: compared anew after them
  pipeline::ModuleRef before;
  pipeline::ModuleRef after;  // null: the pass fails
  // The rewrite responsible for the symptom, from 1; 0: the pass counts none, or the symptom appears without any.
  std::int64_t rewrite = 0, rewrites = 0;
  std::string rewrite_text;
  pipeline::ModuleRef without;  // with the rewrites before this one
  pipeline::ModuleRef with;     // and with this one
  std::optional<Comparison> comparison;
};

// Of a Relax module, by the question's pipeline.
PassBisection bisect_passes(session::Session& session, const ir::Module* module, const Question& question,
                            const BisectProgress& progress = {}, support::Ranks* ranks = nullptr);
// Of a version of a program of any kind.
PassBisection bisect_passes(VersionOracle& oracle, pipeline::ModuleRef module,
                            const std::vector<pipeline::Invocation>& passes, const BisectProgress& progress = {},
                            support::Ranks* ranks = nullptr);
std::string to_string(const PassBisection& b);
std::string to_json(const PassBisection& b);

// Which kernel makes the difference when the JIT runs it instead of the evaluator, and which step of its schedule.
struct KernelBisection {
  enum class Verdict { None, Found, CannotTell } verdict = Verdict::CannotTell;
  std::string why;
  std::string kernel;
  std::size_t index = 0, kernels = 0;  // in the order of their first calls, and how many the JIT compiles
  std::vector<std::string> refused;    // that the JIT does not compile
  bool alone = false;                  // it is wrong when all others are evaluated
  std::string difference;
  // Schedule: a step of it is wrong on the evaluator. Code: the steps are right, and the code for one is not; step
  // 0: for the unscheduled kernel. Unknown: neither shows it.
  enum class Part { Unknown, Schedule, Code } part = Part::Unknown;
  std::size_t step = 0;  // from 1
  std::vector<schedule::Step> steps;
  const ir::PrimFunc* without = nullptr;  // the step
  const ir::PrimFunc* with = nullptr;
};

// `question.passes` are applied first; the program is checked for its values.
KernelBisection bisect_kernels(session::Session& session, const ir::Module* module, const Question& question,
                               const BisectProgress& progress = {}, support::Ranks* ranks = nullptr);
std::string to_string(const KernelBisection& b);
std::string to_json(const KernelBisection& b);

// Several lines, without the last line break.
std::string to_string(const TraceBisection& b, std::string_view folder);
std::string to_string(const FolderBisection& b, std::string_view first, std::string_view second);
std::string to_json(const FolderBisection& b);
std::string to_json(const TraceBisection& b);

}  // namespace rldb::repro
