// The memory used by a run on the machine. Room-private.
#pragma once

#include "rldb/repro/oracle.h"

namespace rldb::repro {

struct MeasuredMemory {
  std::optional<MemoryUse> use;
  std::string why;  // why there is none
};

// Lowers by the rest of the minimum build, from the module's current stage.
MeasuredMemory measure_memory(session::Session& session, const ir::Module* module, const std::string& function,
                              const std::vector<runtime::Value>& args);

}  // namespace rldb::repro
