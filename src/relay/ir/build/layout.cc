#include "rldb/relay/ir/layout.h"

namespace rldb::relay {

std::optional<std::vector<LayoutAxis>> axes_of_layout(std::string_view layout) {
  std::vector<LayoutAxis> axes;
  std::int64_t factor = 0;
  for (const char c : layout) {
    if (c >= '0' && c <= '9') {
      factor = factor * 10 + (c - '0');
      if (factor > 1'000'000) return std::nullopt;
    } else if (c >= 'A' && c <= 'Z' && factor == 0) {
      axes.push_back({c});
    } else if (c >= 'a' && c <= 'z' && factor > 0) {
      axes.push_back({char(c - 'a' + 'A'), true, factor});
      factor = 0;
    } else {
      return std::nullopt;
    }
  }
  return factor == 0 ? std::optional(axes) : std::nullopt;
}

}  // namespace rldb::relay
