// Random Relay programs through the passes of the Relay VM's compiler, and beside their translation to Relax.
//
// A program runs on the Relay VM as it is compiled with and without the passes, and, translated to Relax, on the
// evaluator. The results may differ by what rounding can make. A finding is reduced. The same seed gives the same
// programs. Users: the command, tests.
#pragma once

#include "rldb/repro/fuzz.h"

namespace rldb::repro {

struct RelayFuzzFinding {
  std::uint64_t seed = 0;  // of the program alone
  std::string passes;      // empty: the translation to Relax differs
  std::string text;        // what differs
  std::string program;     // Relay text, reduced if passes are to blame
};

struct RelayFuzzReport {
  std::size_t programs = 0;
  std::size_t compared = 0;    // before and after the passes
  std::size_t translated = 0;  // of these: also with their translation
  std::vector<RelayFuzzFinding> findings;
  std::vector<std::string> not_run;  // reasons, each once, with the seed
};

// `options.passes`: of Relay; `default` is the pipeline of that name. Folders of seeds are not used.
RelayFuzzReport fuzz_relay(session::Session& session, const FuzzOptions& options);
std::string to_string(const RelayFuzzReport& r);

}  // namespace rldb::repro
