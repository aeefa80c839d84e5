// The lines of a diff in pairs: which added line replaces which removed one, and which words of the two differ. Users:
// coloured diffs, side-by-side diffs, pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

struct ByteRange {
  std::size_t begin = 0, end = 0;
};
// `changed`: the parts not in the other line of the pair. Also empty where the lines have too little in common.
struct DiffSide {
  const DiffLine* line = nullptr;  // null: no line on this side
  std::vector<ByteRange> changed;
};
struct DiffRow {
  DiffSide left, right;
};
// Pointers are into the hunk.
std::vector<DiffRow> diff_rows(const DiffHunk& hunk);

// Two columns that fill `width`; long lines wrap.
std::string side_by_side(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                         std::size_t width, bool color);

}  // namespace rldb::ui
