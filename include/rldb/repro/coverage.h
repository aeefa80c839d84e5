// Coverage: operators, dtypes, constructs, passes and rewrites that random programs reached.
//
// A histogram, to see what a run of the fuzzer says nothing about. Users: fuzz, the command.
#pragma once

#include <map>
#include <string>

#include "rldb/repro/generate.h"

namespace rldb::repro {

struct Coverage {
  using Counts = std::map<std::string, std::size_t>;
  std::size_t programs = 0;
  std::size_t solved = 0, refused = 0;  // calls of operators that type inference accepted, and refused
  Counts operators;                     // calls, by name after R.
  Counts dtypes;                        // values of main and other functions
  Counts constructs;                    // programs with branches, functions, kernels, ...
  Counts passes;                        // programs that the pass changed
  Counts rewrites;                      // that passes made, by pass
};

// Counts a program and what the pipeline does to it. Passes after one that fails are not reached.
void cover(session::Session& session, const ir::Module* module, const std::string& pipeline, Coverage& out);
// Each histogram on a few lines, the most frequent first, and the operators that no program called.
std::string to_string(const Coverage& c);

}  // namespace rldb::repro
