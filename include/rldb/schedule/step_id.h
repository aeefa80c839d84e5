// The steps of schedules by name: every new row of step.def builds what includes this again.
#pragma once

#include <cstdint>

namespace rldb::schedule {

enum class StepId : std::uint8_t {
#define RLDB_STEP(Id, Name, Doc) Id,
#include "rldb/schedule/step.def"
};

}  // namespace rldb::schedule
