// A profile for readers: tables, JSON, a trace for Perfetto, pictures. Users: `:profile`, `rldb run --profile`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rldb/debug/profile.h"

namespace rldb::ui {

// Everything, or only what is the same in every run: calls, operations, bytes, without times.
enum class ProfileColumns : std::uint8_t { All, Counts };
// Rows below this part of the time are added up.
inline constexpr double kLeastShare = 0.005;

std::string profile_text(const std::vector<debug::Profile>& ranks, ProfileColumns columns);
// The time that a run would take; with Profile::devices.
std::string simulation_text(const debug::Profile& profile);
// One for each rank.
nlohmann::ordered_json profile_json(const std::vector<debug::Profile>& ranks);
// The trace event format of Chrome, which Perfetto reads: one process for each rank, its memory as a counter.
std::string profile_trace(const std::vector<debug::Profile>& ranks);
// Call paths from the top down, as wide as their time.
std::string flame_svg(const std::vector<debug::Profile>& ranks);
// The memory held by each rank over time.
std::string memory_timeline_svg(const std::vector<debug::Profile>& ranks);

}  // namespace rldb::ui
