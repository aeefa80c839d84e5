// Random programs, to find faults of passes and engines.
//
// Programs come from the generator (generate.h): valid, and defined for the inputs that they run on. Each runs before
// and after each pass, and on the engines. A difference counts if it also shows with other inputs, and if it exceeds
// what rounding can make; a finding is reduced and then asked for once more. The same seed gives the same programs.
// Sources: NNSmith (Liu et al., ASPLOS 2023), Csmith (Yang et al., PLDI 2011). Users: the command, tests.
#pragma once

#include <functional>

#include "rldb/repro/coverage.h"
#include "rldb/repro/reduce.h"

namespace rldb::repro {

struct FuzzOptions {
  std::string passes = "cpu_generic";
  std::uint64_t seed = 0;
  double seconds = 60;       // in all; 0: no limit
  std::size_t programs = 0;  // at most; 0: any number
  bool reduce = true;        // the findings
  bool coverage = false;     // counts what the programs reach
  // Folders of modules: each program is one of them with bindings of the generator added. Empty: the generator's own.
  std::vector<std::string> seeds;
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
  bool confirmed = false;              // the reduced program was asked once more, and has the same symptom
};

struct FuzzReport {
  std::size_t programs = 0, compared = 0;  // compared: 0 with no findings proves nothing about the passes
  std::size_t on_engines = 0;              // of `compared`: that also ran on the engines
  std::size_t operators = 0;               // that the generator calls
  std::size_t undefined = 0;               // programs whose own result has a NaN
  std::size_t first_finding = 0;           // programs until it was found; 0: none
  Coverage coverage;
  std::vector<FuzzFinding> findings;
  std::string wrong_option;  // a pass requires a different option than given, or one more: nothing was run
};

// The question that the fuzzer asks about a program. `error`: what rounding may make, absolute.
Question fuzz_question(const std::string& passes, double error = 0);
// A program with its inputs and the values that the evaluator gives, for other compilers to be run on: STEM.py,
// STEM.inputs.npz by the names of the parameters, STEM.outputs.npz as output0, output1, ... in the order of the leaves.
struct WrittenProgram {
  std::vector<std::string> files;
  std::string why;  // it was not written
};
WrittenProgram write_program(session::Session& session, const Generated& program, const std::string& stem);

FuzzReport fuzz(session::Session& session, const FuzzOptions& options);
std::string to_string(const FuzzReport& r);

}  // namespace rldb::repro
