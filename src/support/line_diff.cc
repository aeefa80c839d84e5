// Edit scripts by Myers' algorithm, and their hunks.
#include "rldb/support/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "rldb/support/cancel.h"

namespace rldb::support {

namespace {

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// A DiffLine whose text has not been copied yet.
struct Line {
  char mark;
  std::string_view text;
  std::size_t before, after;
};

// More edits than this become one replacement: nobody reads such a diff, and Myers keeps a row per edit.
constexpr std::int64_t kMaxEdits = 4000;

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> kept_pairs(const std::vector<std::uint32_t>& a,
                                                            const std::vector<std::uint32_t>& b) {
  const auto n = std::int64_t(a.size());
  const auto m = std::int64_t(b.size());
  const std::int64_t most = std::min(n + m, kMaxEdits);
  const std::int64_t offset = most + 1;
  std::vector<std::int64_t> v(std::size_t(2 * most + 3), 0);
  std::vector<std::vector<std::int64_t>> rows;
  std::int64_t found = -1;
  for (std::int64_t d = 0; d <= most && found < 0; ++d) {
    support::poll();
    rows.push_back(std::vector<std::int64_t>(v.begin() + (offset - d), v.begin() + (offset + d + 1)));
    for (std::int64_t k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && v[std::size_t(offset + k - 1)] < v[std::size_t(offset + k + 1)]);
      std::int64_t x = down ? v[std::size_t(offset + k + 1)] : v[std::size_t(offset + k - 1)] + 1;
      std::int64_t y = x - k;
      while (x < n && y < m && a[std::size_t(x)] == b[std::size_t(y)]) ++x, ++y;
      v[std::size_t(offset + k)] = x;
      if (x >= n && y >= m) {
        found = d;
        break;
      }
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> kept;
  if (found < 0) return kept;
  std::int64_t x = n, y = m;
  for (std::int64_t d = found; d > 0; --d) {
    const std::vector<std::int64_t>& row = rows[std::size_t(d)];  // index k + d
    const auto at = [&](std::int64_t k) { return k < -d || k > d ? -1 : row[std::size_t(k + d)]; };
    const std::int64_t k = x - y;
    const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
    const std::int64_t previous_k = down ? k + 1 : k - 1;
    const std::int64_t previous_x = at(previous_k);
    const std::int64_t previous_y = previous_x - previous_k;
    while (x > previous_x && y > previous_y && x > 0 && y > 0 && a[std::size_t(x - 1)] == b[std::size_t(y - 1)])
      kept.emplace_back(std::size_t(--x), std::size_t(--y));
    x = previous_x;
    y = previous_y;
  }
  while (x > 0 && y > 0) kept.emplace_back(std::size_t(--x), std::size_t(--y));
  std::reverse(kept.begin(), kept.end());
  return kept;
}

namespace {

std::vector<Line> edit_script(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after) {
  std::size_t head = 0;
  while (head < before.size() && head < after.size() && before[head] == after[head]) ++head;
  std::size_t tail = 0;
  while (tail < before.size() - head && tail < after.size() - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
    ++tail;
  std::unordered_map<std::string_view, std::uint32_t> ids;
  const auto number = [&](std::string_view line) { return ids.emplace(line, std::uint32_t(ids.size())).first->second; };
  std::vector<std::uint32_t> a, b;
  for (std::size_t i = head; i < before.size() - tail; ++i) a.push_back(number(before[i]));
  for (std::size_t i = head; i < after.size() - tail; ++i) b.push_back(number(after[i]));

  std::vector<Line> lines;
  std::size_t i = 0, j = 0;
  const auto keep = [&] {
    lines.push_back({' ', before[i], i, j});
    ++i, ++j;
  };
  const auto upto = [&](std::size_t end_i, std::size_t end_j) {
    for (; i < end_i; ++i) lines.push_back({'-', before[i], i, j});
    for (; j < end_j; ++j) lines.push_back({'+', after[j], i, j});
  };
  while (i < head) keep();
  for (const auto& [x, y] : kept_pairs(a, b)) {
    upto(head + x, head + y);
    keep();
  }
  upto(before.size() - tail, after.size() - tail);
  while (i < before.size()) keep();
  return lines;
}

DiffHunk make_hunk(const std::vector<Line>& lines, std::size_t begin, std::size_t end) {
  DiffHunk hunk;
  for (std::size_t i = begin; i < end; ++i)
    hunk.lines.push_back({lines[i].mark, std::string(lines[i].text), lines[i].before, lines[i].after});
  return hunk;
}

}  // namespace

std::string DiffHunk::head() const {
  std::size_t removed = 0, added = 0;
  for (const DiffLine& line : lines) {
    removed += line.mark != '+';
    added += line.mark != '-';
  }
  return fmt::format("@@ -{},{} +{},{} @@", lines[0].before + (removed ? 1 : 0), removed,
                     lines[0].after + (added ? 1 : 0), added);
}

std::vector<DiffHunk> diff_hunks(std::string_view before, std::string_view after, std::size_t context) {
  std::vector<DiffHunk> hunks;
  if (before == after) return hunks;
  const std::vector<Line> lines = edit_script(split_lines(before), split_lines(after));
  for (std::size_t i = 0; i < lines.size();) {
    while (i < lines.size() && lines[i].mark == ' ') ++i;
    if (i == lines.size()) break;
    const std::size_t begin = i > context ? i - context : 0;
    std::size_t last = i;  // last changed line of the hunk
    for (std::size_t k = i; k < lines.size() && k <= last + 2 * context + 1; ++k)
      if (lines[k].mark != ' ') last = k;
    const std::size_t end = std::min(lines.size(), last + context + 1);
    hunks.push_back(make_hunk(lines, begin, end));
    i = end;
  }
  return hunks;
}

}  // namespace rldb::support
