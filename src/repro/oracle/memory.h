// The memory that a run on the machine takes. Room-private.
#pragma once

#include "rldb/repro/oracle.h"

namespace rldb::repro {

struct MeasuredMemory {
  std::optional<MemoryUse> use;
  std::string why;  // there is none
};

// Lowered by the rest of the minimum build, from the stage that the module is at.
MeasuredMemory measure_memory(session::Session& session, const ir::Module* module, const std::string& function,
                              const std::vector<runtime::Value>& args);

}  // namespace rldb::repro
