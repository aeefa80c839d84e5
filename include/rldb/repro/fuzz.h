// Random programs, to find faults of passes and engines.
//
// A program consists of operators of the registry, any that accept the values available so far: the typer decides
// which do, so each program is well-typed. It has a symbolic dim, tuples, match_casts, a call to another function, and
// sometimes a branch. It runs before and after each pass, and on the engines. A difference counts if it also shows with
// other inputs: when a program rounds, a correct compilation may differ for one. The same seed gives the same
// programs. Sources: NNSmith (Liu et al., ASPLOS 2023), Csmith (Yang et al., PLDI 2011). Users: the command, tests.
#pragma once

#include <functional>

#include "rldb/repro/reduce.h"

namespace rldb::repro {

struct FuzzOptions {
  std::string passes = "cpu_generic";
  std::uint64_t seed = 0;
  double seconds = 60;       // in all; 0: no limit
  std::size_t programs = 0;  // at most; 0: any number
  bool reduce = true;        // the findings
  double reduce_seconds = 30;
  support::Ranks* ranks = nullptr;  // of a job: each looks at its share of the programs, rank 0 has all findings
  // Called after each program, and while a finding is reduced.
  std::function<void(std::size_t programs, std::size_t findings)> progress;
};

struct FuzzFinding {
  std::uint64_t seed = 0;  // of the program alone
  std::string passes;      // those left after reduction; empty: engines disagree
  std::string text;        // pass, rewrite and difference
  Symptom symptom;
  const ir::Module* module = nullptr;  // reduced
  Question question;                   // that shows it: with the remaining passes and inputs
  std::int64_t default_dim = 0;        // with symbolic dims of this size
  std::size_t programs = 1;            // that have it: a repeated diagnostic is one finding
};

struct FuzzReport {
  std::size_t programs = 0, compared = 0;  // compared: 0 with no findings proves nothing about the passes
  std::size_t on_engines = 0;              // of `compared`: that also ran on the engines
  std::size_t operators = 0;               // used in programs
  std::vector<FuzzFinding> findings;
  std::string wrong_option;  // a pass requires a different option than given, or one more: nothing was run
};

// The question that the fuzzer asks about a program. `error`: what rounding may make, absolute.
Question fuzz_question(const std::string& passes, double error = 0);
FuzzReport fuzz(session::Session& session, const FuzzOptions& options);
std::string to_string(const FuzzReport& r);

}  // namespace rldb::repro
