// How differences of texts by line are shown. For `:diff`, `rldb diff`,
// `--print-changed=diff`, failed expectations and pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/support/line_diff.h"

namespace rldb::ui {

using support::diff_hunks;
using support::DiffHunk;
using support::DiffLine;

enum class DiffLayout : std::uint8_t { Unified, SideBySide };
struct DiffOptions {
  std::size_t context = 3;
  bool color = false;  // with colours, the changed words of a line more strongly than the rest
  DiffLayout layout = DiffLayout::Unified;
  std::size_t width = 140;  // columns for the two texts side by side
};
// In the requested layout, or the one that fits the output: side by side on a terminal of 140 columns or more.
// `columns`: none if it is not a terminal.
DiffOptions diff_options(std::optional<DiffLayout> wanted, std::optional<int> columns, bool color);
// In the layout of the options. Empty when the texts are equal.
std::string text_diff(std::string_view before, std::string_view after, std::string_view before_name,
                      std::string_view after_name, const DiffOptions& options = {});
// The same in the layout of the options.
std::string show_diff(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                      const DiffOptions& options);

// Lines that are in one text only.
struct DiffCount {
  std::size_t added = 0, removed = 0;
};
DiffCount count_diff(std::string_view before, std::string_view after);
DiffCount count_diff(const std::vector<DiffHunk>& hunks);

}  // namespace rldb::ui
