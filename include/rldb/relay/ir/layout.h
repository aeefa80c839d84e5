// Layouts as `layout_transform` and the convolutions name them: one letter per axis, inner axes with their sizes:
// `NCHW4c`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace rldb::relay {

struct LayoutAxis {
  char letter;  // upper case
  bool inner = false;
  std::int64_t factor = 1;  // of an inner axis: its size
};

// nullopt for a text that is no layout.
std::optional<std::vector<LayoutAxis>> axes_of_layout(std::string_view layout);

}  // namespace rldb::relay
