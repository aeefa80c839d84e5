// One function of a program followed through its versions: each is run on what the one before was run on, arranged for
// its parameters, constants and outputs. Room-private.
#pragma once

#include "repro/bisect/constants.h"
#include "repro/bisect/signature.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

// What came of one version.
struct Outcome {
  bool ran = false;
  std::string error;
  std::string not_run;  // it could not be run, for a reason that is not the program's
  runtime::Value result;
};

inline constexpr std::size_t kNoStage = std::size_t(-1);

// How far the comparison has come.
struct Point {
  std::size_t baseline = kNoStage;  // the stage that the others are compared with
  std::size_t previous = kNoStage;  // the last one that agreed with it
  Arguments arguments;              // of the baseline
  Outcome reference;
  Program program;           // of `previous`
  Program before;            // of the one before that, as it was run for the comparison with `previous`
  std::string made_up;       // its constants without data,
  ConstantValues constants;  // and what is known of them
};

class Follower {
 public:
  Follower(session::Session& session, const Tolerances& tolerances, TraceBisection& out,
           const std::vector<std::string>& inputs)
      : session_(session),
        tolerances_(tolerances),
        out_(out),
        inputs_(inputs),
        reasons_(out.stages.size()),
        ran_(out.stages.size()) {}

  enum class Step {
    Skipped,  // it is not there or cannot be run
    Anew,     // it cannot be compared with those before: it is the baseline now
    Agrees,
    Differs,  // `tried` is the program; `at` stays
  };
  Step attempt(std::size_t stage, const std::string& function, Point& at, Program& tried);

  // What is made up for the parameters.
  enum class Inputs {
    Usual,
    // Conditions are the other way round: the branches that were not taken; integers are large where they may be;
    // weights are so small that what comes of them saturates nothing.
    Other,
    Large,  // the first floats are so large that only results that overflow on one side count
  };
  void set_inputs(Inputs inputs) { kind_ = inputs; }
  // Whatever the inputs are: a kernel runs as often as some integer says.
  void keep_integers(bool keep) { keep_integers_ = keep; }

  bool runs(std::size_t stage) const { return out_.stages[stage].module && out_.stages[stage].not_runnable.empty(); }
  bool has_run(std::size_t stage) const { return ran_[stage]; }
  // It needs no run: a later one is right. What other dims say of it does not count.
  void spare(std::size_t stage) { reasons_[stage].clear(); }
  // What kept stages from running, told at the end: other dims may do.
  void tell_reasons();
  // Since it was forgotten.
  const std::string& last_reason() const { return last_reason_; }
  void forget_reason() { last_reason_.clear(); }

 private:
  bool follow(std::size_t i, const ir::Function* f, Point& next, Program& program, std::string& why);
  bool set_constants(const Stage& stage, Point& next, Program& program, std::string& why);
  bool set_arguments(const ir::Function* f, Point& next, Program& program, std::string& why);
  bool is_given(const ir::Function* f, const std::string& text) const;
  bool make_arguments(const ir::Function* f, Program& program, std::string& why);
  void prefer_finite(Outcome& outcome, Program& program);
  Outcome run_somehow(const Stage& stage, const Point& at, Program& program);
  Outcome execute(const Program& program);
  const ir::Module* with_earlier_kernels(const ir::Module* module, const ir::Module* earlier);
  void make_large(Program& program) const;
  void make_weights_small(Program& program) const;
  void note_rounding(std::size_t stage, const Outcome& reference, const Outcome& o);
  void prefer_wide(Outcome& outcome, Program& program);
  bool differs(const Outcome& reference, const Outcome& o) const;
  bool is_meant(const Stage& stage, const Outcome& reference, const Outcome& o) const;
  void skip(std::size_t stage, std::string why);
  void note(const std::string& text);

  session::Session& session_;
  const Tolerances& tolerances_;
  TraceBisection& out_;
  const std::vector<std::string>& inputs_;
  std::vector<std::string> reasons_;
  std::vector<bool> ran_;
  std::string last_reason_;
  std::vector<bool> made_up_;  // the arguments that `make_arguments` made
  Inputs kind_ = Inputs::Usual;
  bool keep_integers_ = false;
  bool earlier_kernels_ = false;  // it was noted that they stand in
};

// By its name, or by the symbol that it is exported under; null: it is not there.
const ir::Function* find_exported(const ir::Module* module, const std::string& name, std::string& there);

}  // namespace rldb::repro
