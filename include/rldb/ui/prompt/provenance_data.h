// Answers about where values come from and what they reach, and about pairs of runs, as data (docs/json.md).
#pragma once

#include <nlohmann/json.hpp>

#include "rldb/debug/blame.h"
#include "rldb/debug/influence.h"
#include "rldb/debug/side_by_side.h"
#include "rldb/debug/writes.h"

namespace rldb::ui {

nlohmann::ordered_json influence_json(const debug::Influence& influence);
nlohmann::ordered_json writes_json(const debug::RangeWrites& writes);
nlohmann::ordered_json blame_json(const debug::Blame& blame);
nlohmann::ordered_json lockstep_json(const debug::Lockstep& result, std::string_view left, std::string_view right);
nlohmann::ordered_json rerun_json(const debug::Rerun& result);

}  // namespace rldb::ui
