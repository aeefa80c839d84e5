// The text of a placement, "S[1], R": how a tensor lies on a mesh of workers. Type inference, passes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ir {

inline constexpr int kReplica = -1;  // no axis is divided

// For each dimension of the mesh the axis that is divided along it, or kReplica; nullopt for other texts.
std::optional<std::vector<int>> placement_axes(std::string_view placement);
std::string placement_text(const std::vector<int>& axes);

}  // namespace rldb::ir
