// `rldb compare` with `--recorded`.
#pragma once

#include "rldb/ui/batch/batch.h"

namespace rldb::ui {

int compare_recorded(session::Session& session, const CommandLine& line, Console& console);  // the exit code

}  // namespace rldb::ui
