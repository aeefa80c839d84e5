// Unified diffs by Myers' algorithm, common ends cut off first.
#include "ui/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "rldb/support/cancel.h"

namespace rldb::ui {

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

struct Line {
  char mark;  // ' ', '-', '+'
  std::string_view text;
  std::size_t before;  // 0-based line numbers that this line stands at
  std::size_t after;
};

// More edits than this are shown as one replacement: nobody reads such a diff, and Myers keeps a row per edit.
constexpr std::int64_t kMaxEdits = 4000;

// The edit script of a[...] to b[...] as kept pairs (i, j), by Myers' greedy algorithm.
std::vector<std::pair<std::size_t, std::size_t>> matches(const std::vector<std::uint32_t>& a,
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
  for (const auto& [x, y] : matches(a, b)) {
    upto(head + x, head + y);
    keep();
  }
  upto(before.size() - tail, after.size() - tail);
  while (i < before.size()) keep();
  return lines;
}

void write_hunk(std::string& out, const std::vector<Line>& lines, std::size_t begin, std::size_t end, bool color) {
  std::size_t removed = 0, added = 0;
  for (std::size_t i = begin; i < end; ++i) {
    removed += lines[i].mark != '+';
    added += lines[i].mark != '-';
  }
  const std::string head = fmt::format("@@ -{},{} +{},{} @@", lines[begin].before + (removed ? 1 : 0), removed,
                                       lines[begin].after + (added ? 1 : 0), added);
  out += color ? "\033[36m" + head + "\033[0m\n" : head + "\n";
  for (std::size_t i = begin; i < end; ++i) {
    const bool paint = color && lines[i].mark != ' ';
    if (paint) out += lines[i].mark == '-' ? "\033[31m" : "\033[32m";
    out += lines[i].mark;
    out += lines[i].text;
    if (paint) out += "\033[0m";
    out += '\n';
  }
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view before_name,
                         std::string_view after_name, const DiffOptions& options) {
  if (before == after) return {};
  const auto context = std::size_t(options.context);
  const std::vector<Line> lines = edit_script(split_lines(before), split_lines(after));
  std::string out = fmt::format("--- {}\n+++ {}\n", before_name, after_name);
  const std::string empty = out;
  for (std::size_t i = 0; i < lines.size();) {
    while (i < lines.size() && lines[i].mark == ' ') ++i;
    if (i == lines.size()) break;
    const std::size_t begin = i > context ? i - context : 0;
    std::size_t last = i;  // last changed line of the hunk
    for (std::size_t k = i; k < lines.size() && k <= last + 2 * context + 1; ++k)
      if (lines[k].mark != ' ') last = k;
    const std::size_t end = std::min(lines.size(), last + context + 1);
    write_hunk(out, lines, begin, end, options.color);
    i = end;
  }
  return out == empty ? std::string() : out;  // they differ in a final line break only
}

DiffCount count_diff(std::string_view before, std::string_view after) {
  DiffCount count;
  for (const Line& line : edit_script(split_lines(before), split_lines(after))) {
    count.added += line.mark == '+';
    count.removed += line.mark == '-';
  }
  return count;
}

}  // namespace rldb::ui
