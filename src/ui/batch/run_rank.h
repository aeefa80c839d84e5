// `rldb run` as one of several ranks that `mpirun` started. Room-private.
#pragma once

#include <string>

#include "rldb/session/process_group.h"
#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

// Runs this rank. The results of all are shown by rank 0, as `--ranks` shows them; its own is written and compared.
int run_rank(session::Session& session, session::ProcessGroup& group, const std::string& function,
             const CommandLine& line, Console& console);

}  // namespace rldb::ui
