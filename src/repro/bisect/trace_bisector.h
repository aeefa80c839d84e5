// TraceBisector: the first module of a dump whose results differ from the earlier ones.
//
// One search, whose rounds share the stage that they have reached, the inputs in use, the time left and what has been
// compared; its functions are sorted by purpose:
//   trace.cc          the rounds: functions, dims and numbers in turn
//   trace_ranks.cc    rounds and questions shared with other ranks
//   trace_search.cc   one function through all stages, by binary search over long runs
//   trace_parts.cc    kernels and single computations by themselves
//   trace_verdict.cc  what no value shows (memory, sizes of storages), and what is left open
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "repro/bisect/alone.h"
#include "repro/bisect/follow.h"
#include "repro/bisect/kernels_alone.h"
#include "repro/bisect/named_numbers.h"
#include "repro/bisect/numbers.h"
#include "repro/bisect/round_seen.h"
#include "repro/bisect/rounds.h"
#include "repro/bisect/stages.h"
#include "repro/cpu_clock.h"

namespace rldb::repro {

class TraceBisector {
 public:
  TraceBisector(session::Session& session, const Tolerances& tolerances, const Followed& what,
                const BisectProgress& progress, support::Ranks* ranks, TraceBisection& out);
  ~TraceBisector();
  TraceBisector(const TraceBisector&) = delete;
  TraceBisector& operator=(const TraceBisector&) = delete;

  void run();

 private:
  using Clock = CpuClock;
  using Step = Follower::Step;
  using Inputs = Follower::Inputs;
  using Dims = TraceDims;

  // Questions to other ranks, and answers about single computations.
  static constexpr std::string_view kRound = "round", kKernel = "kernel", kSingle = "single";
  static constexpr std::string_view kFound = "found", kRan = "ran", kNoTime = "no time", kDidNotRun = "no";

  // Stages in a long run that were passed over, because a later one agrees.
  struct Between {
    std::size_t dims = 0;  // index into `dims()`
    Point before;
    std::vector<std::size_t> stages;
  };
  struct Tried {
    std::string name;
    std::size_t next = 0;  // index into `dims()`
    bool once = false;
    std::string why;      // it could not be compared
    Point at;             // where its comparison ended first
    double elements = 0;  // of its last round, and how long that took
    Clock::duration took{};
    std::vector<Between> between;  // in its first round
  };

  static bool can_run(const Stage& s) { return s.module && s.not_runnable.empty(); }
  const std::vector<Dims>& dims() const { return open_ ? open_dims_ : static_dims_; }
  bool was_compared(const std::string& name) const;

  // ---- rounds ----

  // The same on all ranks.
  void prepare();
  // A stage identical to the previous one need not run.
  void order_stages();
  // Those for all programs, those that these stages name, kinds of numbers, and at last those that some programs
  // require.
  void choose_dims();
  // One function with its next dims. True: a stage differs.
  bool try_next(Tried& function);
  // One function with these dims in all stages. nullopt: it would repeat an earlier attempt.
  std::optional<bool> round(Tried& function, std::size_t k);
  // By the round before, with room for work that grows faster than its tensors.
  bool takes_too_long(const Tried& function, double elements) const;
  // False: it would repeat an earlier attempt.
  bool choose(const Dims& dims, const ir::Function* f);
  // They were generated from the seed when the stages were read.
  bool made_up_constants() const;
  void note_tried(const Dims& dims, const ir::Function* f);
  // Of kernels and computations that are run by themselves.
  void note_all_numbers();

  // ---- other ranks ----

  // A round in which nothing is known from earlier ones.
  Seen round_apart(std::size_t function, std::size_t k);
  // The rounds that this process has not had, by all ranks; those with something new are repeated here. True: a stage
  // differs.
  bool share_rounds();
  bool is_new(const Tried& function, const Seen& seen) const;
  void note_seen(Tried& function, std::size_t k, const Seen& seen);
  // A kind and two numbers.
  static std::string question(std::string_view kind, std::size_t a, std::size_t b);
  std::string answer_to(const std::string& asked);

  // ---- one function in all stages ----

  bool look_at(const std::string& name);
  // The end of the run of consecutive stages with the same parameters and constants as the stage at `k`: any of them
  // can follow the previous one.
  std::size_t end_of_run(std::size_t k) const;
  std::string signature(std::size_t stage) const;
  Step attempt(std::size_t stage, Program& tried);
  bool step(std::size_t stage);
  // Binary search over a long run; its stages differ from some point on, or not at all.
  bool search(std::vector<std::size_t> open);
  void pass_over(const Point& before, std::vector<std::size_t> stages);
  std::size_t stages_passed_over() const;
  // A later stage may undo what one in between does wrong. True: one differs.
  bool look_between(const Tried& function);
  // Those in the middle of the rest first: a fault lasts for some stages.
  bool look_between(const Between& b);
  bool found(std::size_t stage, const Program& program);
  // Of numbers that were chosen for their effect, or by the caller's judgement.
  bool counts(const Program& program);

  // ---- parts by themselves ----

  // Kernels by themselves: they need no Relax function, and get other numbers than in the programs.
  void look_at_kernels();
  void found_kernel(KernelDifference found);
  // All agree on these inputs: single computations are run on others.
  void look_at_singles(const std::vector<Tried>& functions);
  // The bindings that two neighbouring stages compute differently.
  const std::vector<AloneChecker::Pair>& singles_of(std::size_t k);
  // nullopt: no time is left.
  std::optional<AloneChecker::Outcome> single(std::size_t k, std::size_t i);
  AloneChecker::Outcome run_single(const AloneChecker::Pair& pair, std::size_t k);
  // Found here or by another rank.
  std::optional<AloneChecker::Found> single_found(std::size_t k, std::size_t i);
  bool is_one_computation(const AloneChecker::Found& f, std::size_t k, const std::vector<Tried>& functions);
  // The runs of a function that was compared, in two stages.
  std::optional<std::pair<Trace, Trace>> traces_of(const Tried& tried, std::size_t good, std::size_t bad);
  void found_alone(const AloneChecker::Found& f, std::size_t k);

  // ---- what no value shows ----

  // All agree on these inputs. Memory released too early is wrong nevertheless; the earliest stage that does it is the
  // answer.
  void look_at_last_memory(const std::string& name, const Point& end);
  static std::vector<Finding> memory_of(const Trace& trace, bool unwritten);
  // The values agree; a storage of another size than in the stage before is wrong nevertheless.
  void look_at_storages(const Tried& function);
  // Its result is NaN on both sides, whatever the inputs: a difference on the way counts.
  void look_behind_nan(const Tried& f);
  void found_on_the_way(std::size_t good, std::size_t bad, Comparison c, const Point& at);

  // ---- verdicts ----

  // Two stages differ in these programs.
  void found_between(std::size_t good, std::size_t bad, const Program& good_program, const Program& bad_program);
  // The program gives other values than the framework before any pass that is in the folder.
  void found_in_the_first();
  // A function that was not compared is the same everywhere, or it says why.
  void note_function(const Tried& f);
  // A pass made a kernel of it, or gave it other parameters: those that call it are compared.
  bool is_part_of_another(const std::string& name) const;
  // No pass changed anything, and nothing else was asked.
  bool agree_if_unchanged();
  // Several stages can be run, and no pass changed anything.
  bool is_one_program() const;
  void tell_nothing_compared(const std::vector<Tried>& functions);
  // Nothing differs, but what did not run may.
  void tell_what_is_open();
  void tell_of_not_compared();

  session::Session& session_;
  const Tolerances& tolerances_;
  const Followed& what_;
  const BisectProgress& progress_;
  support::Ranks* ranks_;
  std::optional<OtherRanks> others_;
  TraceBisection& out_;
  Follower follower_;
  KernelChecker kernels_;
  AloneChecker alone_;
  Clock::time_point start_ = Clock::now();
  const Stage* first_ = nullptr;  // that may run
  std::vector<Tried> functions_;  // of it
  bool keep_integers_ = false;
  NamedNumbers named_;  // by the stages
  std::optional<NumberMaker> maker_;
  bool does_not_count_ = false;  // the difference that was met last
  bool only_looks_ = false;      // whether a stage differs is all that matters
  std::vector<Dims> open_dims_{std::begin(kDims), std::end(kDims)};
  std::vector<Dims> static_dims_{std::begin(kStaticDims), std::end(kStaticDims)};
  bool open_ = false;                            // whether there are symbolic dims
  std::size_t dims_for_all_ = std::size(kDims);  // so many of them for functions that were compared already
  bool is_large_ = false;                        // whether the current inputs are large
  std::vector<std::size_t> order_;               // stages that may run, without duplicates
  std::string name_;
  Point at_;
  struct {
    std::size_t dims = 0;
    std::vector<Between>* keep = nullptr;  // null: not the first round of a function
  } now_;
  std::set<std::pair<std::string, std::size_t>> passed_over_;  // by the function
  std::vector<std::vector<AloneChecker::Pair>> singles_;       // by the index of the stage in `order_`
  std::map<std::pair<std::size_t, std::size_t>, AloneChecker::Found> found_singles_;
  std::optional<Clock::time_point> singles_until_;
};

}  // namespace rldb::repro
