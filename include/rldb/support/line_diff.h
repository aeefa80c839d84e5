// Differences of texts by line: Myers' O(ND) algorithm (An O(ND) Difference Algorithm and Its Variations, 1986), with
// common ends cut off first. A diff of more than 4,000 edits becomes one replacement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rldb::support {

struct DiffLine {
  char mark = ' ';         // '-' only before, '+' only after, ' ' in both
  std::string text;        // without its line break
  std::size_t before = 0;  // 0-based numbers of its line in each text
  std::size_t after = 0;
};

// Changed lines and the lines around them; in each change the removed lines come first.
struct DiffHunk {
  std::vector<DiffLine> lines;
  // `@@ -2,7 +2,7 @@`
  std::string head() const;
};
// None: the texts are equal except for a line break at the end.
std::vector<DiffHunk> diff_hunks(std::string_view before, std::string_view after, std::size_t context = 3);

// Pairs (i, j) of equal items that an edit script of a to b keeps.
std::vector<std::pair<std::size_t, std::size_t>> kept_pairs(const std::vector<std::uint32_t>& a,
                                                            const std::vector<std::uint32_t>& b);

}  // namespace rldb::support
