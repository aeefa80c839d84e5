// Single computations of two versions of a program, each run by itself.
//
// A whole program feeds an operator in its middle numbers of one size (after a normalisation, of about 1), so that a
// fault that needs others never shows: an exponential without the maximum subtracted, a remainder of negative
// integers, a narrow cast. Here the value of a binding that the two versions compute differently becomes a function
// of what it reads, and both functions run on numbers of several kinds. Room-private.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "repro/cpu_clock.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

class AloneChecker {
 public:
  AloneChecker(session::Session& session, const Tolerances& tolerances) : session_(session), tolerances_(tolerances) {}

  struct Found {
    std::string binding;             // its name
    std::vector<std::string> reads;  // the variables that it reads, on both sides
    std::string numbers;             // the kind of numbers on which it shows
    bool related = false;            // one of the two calls has the name of the other, perhaps with more
    bool large = false;              // they are so large that only an overflow on one side counts
    Program good, bad;
  };
  // Whether what it reads has the same values in both programs: a name may have got another meaning.
  using Confirm = std::function<bool(const Found&)>;
  // The first binding of a public or private function for which the two differ. `until`: no binding is begun after it.
  std::optional<Found> check(const Stage& good, const Stage& bad, CpuClock::time_point until, const Confirm& confirm);
  // Computations that ran on both sides, and bindings for which there was no time.
  std::size_t compared() const { return compared_; }
  std::size_t left_out() const { return left_out_; }

 private:
  struct Pair {
    std::string function;
    const ir::Binding* good = nullptr;
    const ir::Binding* bad = nullptr;
  };
  std::vector<Pair> changed(const ir::Module* good, const ir::Module* bad);
  std::optional<Found> run(const Pair& pair, const ir::Module* good, const ir::Module* bad);
  const ir::Module* alone(const ir::Module* module, const std::string& name, const ir::Binding* b,
                          const std::vector<const ir::Var*>& order);
  std::optional<runtime::Value> execute(const Program& program);

  session::Session& session_;
  const Tolerances& tolerances_;
  std::set<std::string> done_;  // computations of which another binding was compared before
  std::size_t compared_ = 0, left_out_ = 0;
};

}  // namespace rldb::repro
