// Unified diffs of texts by line (Myers' O(ND) algorithm, with common ends cut off first). For `:diff`, `rldb diff`,
// `--print-changed=diff` and failed expectations.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rldb::ui {

struct DiffOptions {
  int context = 3;
  bool color = false;
};
// Empty when the texts are equal.
std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name, const DiffOptions& options = {});

// Lines that are in one text only.
struct DiffCount {
  std::size_t added = 0, removed = 0;
};
DiffCount count_diff(std::string_view before, std::string_view after);

}  // namespace rldb::ui
