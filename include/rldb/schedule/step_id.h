// The steps of schedules by name: everything that includes this is rebuilt for every new row of step.def.
#pragma once

#include <cstdint>

namespace rldb::schedule {

enum class StepId : std::uint8_t {
#define RLDB_STEP(Id, Name, Doc) Id,
#include "rldb/schedule/step.def"
};

}  // namespace rldb::schedule
