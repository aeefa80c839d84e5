// Two programs that differ, cut to the part that makes the difference: the computation of the first tensor that
// differs, on both sides, as functions of the tensors that it reads, with the values that these had in the run. Users:
// the commands, for scripts that show a fault.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/compare.h"

namespace rldb::repro {

struct CutPair {
  Program a, b;  // they take the same arguments
  std::vector<session::Argument> values;
};

// None: `why`. The cut programs have been run, and differ.
std::optional<CutPair> cut_pair(session::Session& session, const Program& a, const Program& b,
                                const Tolerances& tolerances, std::string& why);

}  // namespace rldb::repro
