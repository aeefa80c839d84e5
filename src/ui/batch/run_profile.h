// `rldb run --profile`: the run itself, profiled, and the files that were asked for.
#pragma once

#include <vector>

#include "rldb/session/group.h"
#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

// Nullopt: the run succeeded, and `results` (by rank) are those of its last repetition. Else the exit code; diagnosed.
std::optional<int> run_profiled(session::Session& session, session::Group* group, const std::string& function,
                                std::vector<std::vector<runtime::Value>> by_rank, const CommandLine& line,
                                Console& console, std::vector<runtime::Value>& results);

}  // namespace rldb::ui
