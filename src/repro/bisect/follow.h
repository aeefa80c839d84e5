// One function of a program followed through its versions: each runs on the inputs of the previous one, adapted to its
// parameters, constants and outputs. Room-private.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "repro/argument_writes.h"
#include "repro/bisect/constants.h"
#include "repro/bisect/number_kinds.h"
#include "repro/bisect/signature.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

// The result of running one version.
struct Outcome {
  bool ran = false;
  std::string error;
  std::string not_run;    // it could not be run, for a reason outside the program
  bool asserted = false;  // an assertion of the program stopped it
  runtime::Value result;
  std::vector<GivenTensor> arguments;
};

inline constexpr std::size_t kNoStage = std::size_t(-1);

// How far the comparison has got.
struct Point {
  std::size_t baseline = kNoStage;  // the stage with which the others are compared
  std::size_t previous = kNoStage;  // the last one that agreed with the baseline
  Arguments arguments;              // of the baseline
  Outcome reference;
  Program program;           // of `previous`
  Program before;            // the previous one, as run for the comparison with `previous`
  std::string made_up;       // its constants without data,
  ConstantValues constants;  // and their known values
  // Before any version that runs: the last one that an assertion stops.
  std::optional<std::pair<std::size_t, Program>> asserting;
};

class Follower {
 public:
  Follower(session::Session& session, const Tolerances& tolerances, TraceBisection& out, const Followed& what)
      : session_(session),
        tolerances_(tolerances),
        out_(out),
        what_(what),
        inputs_(what.inputs),
        reasons_(out.stages.size()),
        ran_(out.stages.size()),
        stands_in_(out.stages.size()) {}

  enum class Step {
    Skipped,  // it is missing or cannot be run
    Anew,     // it cannot be compared with earlier ones: it becomes the baseline
    Agrees,
    Differs,  // `tried` is the program; `at` is unchanged
  };
  Step attempt(std::size_t stage, const std::string& function, Point& at, Program& tried);

  // How parameters are filled.
  enum class Inputs {
    Usual,
    // Conditions are inverted, to reach the branches not taken before; integers are large where possible; weights are
    // so small that results never saturate.
    Other,
    Large,  // the first floats are so large that only results that overflow on one side count
    Kind,   // of a kind of numbers on which single computations are run
  };
  void set_inputs(Inputs inputs, Numbers numbers = Numbers::Generated) {
    kind_ = inputs;
    numbers_ = numbers;
    round_ = 0;
    rounds_ = 1;
  }
  // Short tensors get the numbers of a kind in several rounds: how many is known after the first.
  std::int64_t rounds() const { return rounds_; }
  void set_round(std::int64_t round) { round_ = round; }
  void set_maker(const NumberMaker* maker) { maker_ = maker; }
  // Which arguments were generated for the last baseline.
  const std::vector<bool>& made_up() const { return made_up_; }
  // The inputs of the last baseline have integers that are not the usual ones.
  bool has_other_integers() const { return other_integers_; }
  // Keeps integers whatever the inputs: a kernel's run time depends on some integer.
  void keep_integers(bool keep) { keep_integers_ = keep; }

  bool runs(std::size_t stage) const { return out_.stages[stage].module && out_.stages[stage].not_runnable.empty(); }
  bool has_run(std::size_t stage) const { return ran_[stage]; }
  void note_run(std::size_t stage) { ran_[stage] = true; }
  // Its results were compared, and no part of them was NaN on both sides.
  bool saw_numbers(const std::string& function) const { return seen_.contains(function); }
  // How often two versions of the function were compared.
  std::size_t comparisons() const { return comparisons_; }
  // Some of its kernels ran as they were in an earlier one.
  bool stands_in(std::size_t stage) const { return stands_in_[stage]; }
  // It need not run: a later one is right. Reports about it for other dims do not count.
  void spare(std::size_t stage) { reasons_[stage].clear(); }
  // Reports at the end what kept stages from running: other dims may work.
  void tell_reasons();
  // The function was compared, but a part of its result was NaN on both sides in every comparison. Null: it was not.
  const NanOnBoth* only_nan(const std::string& function) const;
  // Since the last reset.
  const std::string& last_reason() const { return last_reason_; }
  void forget_reason() { last_reason_.clear(); }
  void note(const std::string& text);

  // The reason why a stage is not compared; the first one is kept.
  void skip(std::size_t stage, std::string why);

 private:
  bool follow(std::size_t i, const ir::Function* f, Point& next, Program& program, std::string& why);
  bool set_constants(const Stage& stage, Point& next, Program& program, std::string& why);
  bool set_arguments(const ir::Function* f, Point& next, Program& program, std::string& why);
  bool is_given(const ir::Function* f, const std::string& text) const;
  bool make_arguments(const ir::Function* f, Program& program, std::string& why);
  void give_values(std::vector<session::Argument>& made) const;
  void look_for_finite(Outcome& outcome, Program& program);
  Program with_generated(const Program& program, void (*change)(const runtime::Value&)) const;
  void pass_assertion(Outcome& outcome, Program& program);
  bool loses_assertion(const Point& at, const Outcome& outcome, const Program& program) const;
  void prefer_positive(Outcome& outcome, Program& program);
  void note_nan(const std::string& function, const Outcome& reference, const Outcome& o);
  Outcome run_somehow(std::size_t stage, const Point& at, Program& program);
  Outcome execute(const Program& program);
  const ir::Module* with_earlier_kernels(const ir::Module* module, const ir::Module* earlier);
  void make_large(Program& program) const;
  void make_weights_small(Program& program) const;
  void note_rounding(std::size_t stage, const Outcome& reference, const Outcome& o);
  void prefer_wide(Outcome& outcome, Program& program);
  void refill(Outcome& outcome, Program& program);
  bool take_if_it_runs(const std::vector<bool>& which, Outcome& outcome, Program& program,
                       const std::vector<runtime::Value>& generated);
  bool differs(const Outcome& reference, const Outcome& o) const;
  bool results_differ(const Outcome& reference, const Outcome& o) const;
  std::optional<ArgumentDifference> arguments_apart(const Outcome& reference, const Outcome& o) const;
  bool is_meant(const Stage& stage, const Point& next, const Outcome& o);
  std::optional<std::string> cannot_be_expected() const;
  bool is_as_expected(std::size_t stage, const Outcome& o);

  session::Session& session_;
  const Tolerances& tolerances_;
  TraceBisection& out_;
  const Followed& what_;
  const std::vector<std::string>& inputs_;
  std::vector<std::string> reasons_;
  std::vector<bool> ran_;
  std::vector<bool> stands_in_;
  std::string last_reason_;
  std::map<std::string, NanOnBoth> nan_;  // of functions, if no comparison saw more
  std::set<std::string> seen_;            // functions whose results were compared
  std::vector<bool> made_up_;             // the arguments generated by `make_arguments`
  Inputs kind_ = Inputs::Usual;
  Numbers numbers_ = Numbers::Generated;
  std::int64_t round_ = 0, rounds_ = 1;
  const NumberMaker* maker_ = nullptr;
  bool other_integers_ = false;
  std::size_t comparisons_ = 0;
  std::chrono::duration<double> longest_{};  // run that ended
  bool keep_integers_ = false;
  bool earlier_kernels_ = false;  // their use has been noted
};

std::string_view text_of(Follower::Inputs inputs, Numbers numbers);  // in words

// By its name, or by the symbol under which it is exported; null: it is missing.
const ir::Function* find_exported(const ir::Module* module, const std::string& name, std::string& there);

}  // namespace rldb::repro
