// Random programs, to find what passes and engines do wrong.
//
// A program is made of the operators of the registry, whichever take the values that there are so far: the typer says
// which do, so each program is well-typed. It has a symbolic dim, tuples, match_casts, a call of another function, and
// a branch now and then. It runs before and after each pass, and on the engines. A difference counts when it shows with
// other inputs too: of a program that rounds, a right compilation may differ for one. The same seed gives the same
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
  bool reduce = true;        // what is found
  double reduce_seconds = 30;
  // Called after each program, and while a finding is reduced.
  std::function<void(std::size_t programs, std::size_t findings)> progress;
};

struct FuzzFinding {
  std::uint64_t seed = 0;  // of the program alone
  std::string passes;      // what is left of them; empty: engines disagree
  std::string text;        // pass, rewrite and difference
  Symptom symptom;
  const ir::Module* module = nullptr;  // reduced
  Question question;                   // that shows it: with the passes and inputs that are left
  std::int64_t default_dim = 0;        // with symbolic dims like this
  std::size_t programs = 1;            // that have it: a diagnostic that comes again is one finding
};

struct FuzzReport {
  std::size_t programs = 0, compared = 0;  // compared: 0 with no findings says nothing about the passes
  std::size_t on_engines = 0;              // of `compared`: that the engines ran, too
  std::size_t operators = 0;               // that programs are made of
  std::vector<FuzzFinding> findings;
  std::string wrong_option;  // a pass wants another option than it was given, or one more: nothing was looked at
};

// A well-typed module with the function `main`; the same for the same seed. Null: the front end refuses its text.
const ir::Module* random_module(session::Session& session, std::uint64_t seed);
FuzzReport fuzz(session::Session& session, const FuzzOptions& options);
std::string to_string(const FuzzReport& r);

}  // namespace rldb::repro
