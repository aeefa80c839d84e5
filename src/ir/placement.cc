#include "rldb/ir/placement.h"

#include <algorithm>
#include <charconv>

namespace rldb::ir {

// The axis of "S[1]", kReplica of "R".
static std::optional<int> axis_of(std::string_view item) {
  if (item == "R") return kReplica;
  if (!item.starts_with("S[") || !item.ends_with("]")) return std::nullopt;
  int axis = 0;
  const char* end = item.data() + item.size() - 1;
  const auto [stop, error] = std::from_chars(item.data() + 2, end, axis);
  return error == std::errc() && stop == end && axis >= 0 && item[2] != '-' ? std::optional(axis) : std::nullopt;
}

std::optional<std::vector<int>> placement_axes(std::string_view placement) {
  std::vector<int> out;
  while (!placement.empty()) {
    const std::size_t comma = std::min(placement.find(','), placement.size());
    std::string_view item = placement.substr(0, comma);
    placement.remove_prefix(std::min(comma + 1, placement.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    const auto axis = axis_of(item);
    if (!axis) return std::nullopt;
    out.push_back(*axis);
  }
  return out;
}

std::string placement_text(const std::vector<int>& axes) {
  std::string out;
  for (const int a : axes)
    out += (out.empty() ? "" : ", ") + (a == kReplica ? std::string("R") : "S[" + std::to_string(a) + "]");
  return out;
}

}  // namespace rldb::ir
