// Kernels of neighbouring versions of a program, each run by itself.
//
// A pass over PrimFuncs may change how one computes its results, not the results. Each version of a kernel runs on
// the same generated arguments as the version before: also in modules without a Relax function that would call it.
// Where a pass rewrites its callers too, it may mean something else under its name: then the whole programs tell.
// Room-private.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "repro/bisect/number_kinds.h"
#include "repro/other_ranks.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

class KernelChecker {
 public:
  KernelChecker(session::Session& session, const Tolerances& tolerances, const std::vector<Stage>& stages)
      : session_(session), tolerances_(tolerances), stages_(stages) {}

  // Whether a kernel of which this pair differs by itself does the same in both whole programs. Null: there are none.
  using KeptMeaning = std::function<bool(const KernelDifference&)>;
  // The first version of a kernel that differs. After that many seconds of a process no kernel is begun there.
  // `others`: ranks that call `answer_to` with the last part of questions that begin with `kind`; null: there are none.
  std::optional<KernelDifference> check(double seconds, const KeptMeaning& kept = {}, OtherRanks* others = nullptr,
                                        std::string_view kind = {});
  std::string answer_to(const std::string& question, double seconds);
  // Kernels that changed and were compared; those that were not, each with the stage from which on and the reason.
  const std::vector<std::string>& compared() const { return compared_; }
  const std::vector<KernelNotRun>& not_run() const { return not_run_; }

 private:
  struct Version {
    std::size_t stage = 0;
    const ir::Module* module = nullptr;  // of that stage
    const ir::PrimFunc* kernel = nullptr;
    bool callers_rewritten = false;  // in the same stage
  };
  using Versions = std::vector<Version>;  // of one kernel with one meaning, each different from the one before
  struct Outcome {
    bool ran = false;
    bool fails = false;  // by its own fault
    std::string why;
    runtime::Value results;
  };
  struct Seen {
    bool ran = false;
    std::string why;  // not, at first
  };
  struct Attempt {
    std::vector<runtime::Value> args;
    Numbers numbers{};
    std::string dims;
  };

  // A kernel by itself, in all its versions.
  struct Checked {
    std::optional<KernelDifference> difference;
    std::vector<KernelNotRun> not_run;
    bool compared = false;  // each version
  };

  void collect();
  void start(double seconds);
  // By its index among those that changed; `seconds` are for this one.
  Checked check_one(std::size_t index, double seconds);
  Checked check_in_time(std::size_t index);
  std::optional<KernelDifference> first_of(std::map<std::size_t, std::size_t> differ, double seconds,
                                           const KeptMeaning& kept);
  void leave_open(std::size_t index, std::size_t stage, const std::string& why);
  std::optional<KernelDifference> compare_on(const std::string& name, const Versions& versions, const Attempt& attempt,
                                             std::vector<Seen>& seen);
  std::vector<runtime::Value> arguments(const std::string& name, const Version& first, std::string& why);
  void attempt(const std::string& name, const Versions& versions, std::string& why,
               const std::function<bool(const Attempt&)>& look);
  Outcome execute(const std::string& name, const Version& version, const std::vector<runtime::Value>& args);
  Program program(const std::string& name, const Version& version, const std::vector<runtime::Value>& args) const;

  session::Session& session_;
  const Tolerances& tolerances_;
  const std::vector<Stage>& stages_;
  std::vector<std::pair<std::string, Versions>> changed_;  // kernels with more than one version, by name
  std::map<std::size_t, KernelDifference> found_;          // here, by index
  bool started_ = false;
  double until_ = 0;
  std::vector<std::string> compared_;
  std::vector<KernelNotRun> not_run_;
};

}  // namespace rldb::repro
