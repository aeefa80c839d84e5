// Single computations of two versions of a program, each run by itself.
//
// A whole program feeds an operator in its middle numbers of one size (after a normalisation, of about 1), so that a
// fault that needs others never shows: an exponential without the maximum subtracted, a remainder of negative
// integers, a narrow cast. Here the value of a binding that the two versions compute differently becomes a function
// of what it reads, and both functions run on numbers of several kinds. Where the two read different variables, as
// before and after a fusion, each becomes a function of variables further back, which both versions have.
// Room-private.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "repro/bisect/common_cut.h"
#include "repro/bisect/number_kinds.h"
#include "rldb/repro/bisect.h"

namespace rldb::repro {

class AloneChecker {
 public:
  AloneChecker(session::Session& session, const Tolerances& tolerances) : session_(session), tolerances_(tolerances) {}

  struct Found {
    std::string binding;             // its name
    std::vector<std::string> reads;  // the variables that it reads, on both sides
    std::string numbers, dims;       // the kind of numbers on which it shows, and the symbolic dims
    bool related = false;            // one of the two calls has the name of the other, perhaps with more
    bool large = false;              // they are so large that only an overflow on one side counts
    Program good, bad;
  };
  struct Pair {
    std::string function;
    const ir::Function* good_in = nullptr;
    const ir::Function* bad_in = nullptr;
    const ir::Binding* good = nullptr;
    const ir::Binding* bad = nullptr;
  };
  // Bindings of public and private functions that the two compute differently.
  std::vector<Pair> changed(const ir::Module* good, const ir::Module* bad);

  struct Outcome {
    std::optional<Found> found;
    bool ran = false;   // on both sides
    std::string parts;  // of equal computations, in every process, the same; empty: run before, or it cannot be made
  };
  // Parts in which no difference was found are not run again for another pair.
  Outcome run(const Pair& pair, const Stage& good, const Stage& bad);
  // Notes of differences that do not count: a program that overflows, or rounding.
  const std::vector<std::string>& doubts() const { return doubts_; }

 private:
  bool is_in_doubt(const Found& f, Numbers numbers);
  Outcome run_parts(Found found, bool has_symbols);
  Outcome run_with_all(Found& found, bool has_symbols);
  std::vector<runtime::Value> arguments(const Program& program, bool first);
  const ir::Module* alone(const ir::Module* module, const std::string& name, const CutPart& part);
  std::optional<runtime::Value> execute(const Program& program);

  session::Session& session_;
  const Tolerances& tolerances_;
  using Parts = std::pair<std::uint64_t, std::uint64_t>;  // hashes
  std::set<Parts> alike_;                                 // no difference was found
  std::vector<std::string> doubts_;
};

}  // namespace rldb::repro
