// Pairs lines by the words they have in common, marks the words that differ, and lays out two columns.
#include "ui/render/diff_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/table.h"

namespace rldb::ui {

namespace {

// Longer runs of changed lines are paired in order: the table of all pairs grows quadratically.
constexpr std::size_t kMostPaired = 60;
// Lines with more words than this are marked as a whole.
constexpr std::size_t kMostWords = 1000;
// The share of common words that makes two lines a pair; with a lower share, no words are marked.
constexpr double kAlike = 0.4;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

// Names and numbers as units, other characters one by one.
std::vector<ByteRange> words_of(std::string_view text) {
  std::vector<ByteRange> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (is_word(text[i]))
      while (end < text.size() && is_word(text[end])) ++end;
    words.push_back({i, end});
    i = end;
  }
  return words;
}

// Lines as word numbers.
class Words {
 public:
  struct Line {
    std::vector<ByteRange> ranges;
    std::vector<std::uint32_t> ids;
    std::vector<std::uint32_t> sorted;  // without blanks
  };
  Line read(std::string_view text) {
    Line line;
    line.ranges = words_of(text);
    for (const ByteRange& r : line.ranges) {
      const std::string_view word = text.substr(r.begin, r.end - r.begin);
      line.ids.push_back(ids_.emplace(word, std::uint32_t(ids_.size())).first->second);
      if (word != " ") line.sorted.push_back(line.ids.back());
    }
    std::sort(line.sorted.begin(), line.sorted.end());
    return line;
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

// The similarity of two lines: 0 to 1.
double likeness(const Words::Line& a, const Words::Line& b) {
  const std::size_t all = a.sorted.size() + b.sorted.size();
  if (all == 0) return 1;
  std::vector<std::uint32_t> both;
  std::set_intersection(a.sorted.begin(), a.sorted.end(), b.sorted.begin(), b.sorted.end(), std::back_inserter(both));
  return 2.0 * double(both.size()) / double(all);
}

// The parts of a line outside the kept words; neighbours separated by a blank form one range.
std::vector<ByteRange> left_over(const Words::Line& line, const std::vector<bool>& kept) {
  std::vector<ByteRange> ranges;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) continue;
    const ByteRange& r = line.ranges[i];
    if (!ranges.empty() && ranges.back().end + 1 >= r.begin)
      ranges.back().end = r.end;
    else
      ranges.push_back(r);
  }
  return ranges;
}

void mark_words(DiffRow& row, const Words::Line& a, const Words::Line& b) {
  if (a.ids.size() > kMostWords || b.ids.size() > kMostWords || likeness(a, b) < kAlike) return;
  std::vector<bool> in_a(a.ids.size(), false), in_b(b.ids.size(), false);
  for (const auto& [i, j] : support::kept_pairs(a.ids, b.ids)) in_a[i] = in_b[j] = true;
  row.left.changed = left_over(a, in_a);
  row.right.changed = left_over(b, in_b);
}

// The pairs (i, j), increasing in both, with the greatest total similarity.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const std::vector<Words::Line>& a,
                                                          const std::vector<Words::Line>& b) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (a.size() > kMostPaired || b.size() > kMostPaired) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  const std::size_t columns = b.size() + 1;
  std::vector<double> best((a.size() + 1) * columns, 0), alike(a.size() * b.size(), 0);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;) {
      const double here = likeness(a[i], b[j]);
      alike[i * b.size() + j] = here;
      const double paired = here >= kAlike ? here + best[(i + 1) * columns + j + 1] : 0;
      best[i * columns + j] = std::max({paired, best[(i + 1) * columns + j], best[i * columns + j + 1]});
    }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double here = alike[i * b.size() + j], total = best[i * columns + j];
    if (here >= kAlike && total == here + best[(i + 1) * columns + j + 1])
      pairs.emplace_back(i++, j++);
    else if (total == best[(i + 1) * columns + j])
      ++i;
    else
      ++j;
  }
  return pairs;
}

// Removed lines [begin, middle) and added lines [middle, end) of a hunk.
void pair_lines(const DiffHunk& hunk, std::size_t begin, std::size_t middle, std::size_t end,
                std::vector<DiffRow>& rows) {
  support::poll();
  Words words;
  std::vector<Words::Line> a, b;
  for (std::size_t i = begin; i < middle; ++i) a.push_back(words.read(hunk.lines[i].text));
  for (std::size_t i = middle; i < end; ++i) b.push_back(words.read(hunk.lines[i].text));
  std::size_t i = 0, j = 0;
  const auto alone = [&](std::size_t until_i, std::size_t until_j) {
    for (; i < until_i; ++i) rows.push_back({{&hunk.lines[begin + i], {}}, {}});
    for (; j < until_j; ++j) rows.push_back({{}, {&hunk.lines[middle + j], {}}});
  };
  for (const auto& [x, y] : pairs_of(a, b)) {
    alone(x, y);
    DiffRow& row = rows.emplace_back(DiffRow{{&hunk.lines[begin + i], {}}, {&hunk.lines[middle + j], {}}});
    mark_words(row, a[i++], b[j++]);
  }
  alone(a.size(), b.size());
}

}  // namespace

std::vector<DiffRow> diff_rows(const DiffHunk& hunk) {
  std::vector<DiffRow> rows;
  for (std::size_t i = 0; i < hunk.lines.size();) {
    if (hunk.lines[i].mark == ' ') {
      rows.push_back({{&hunk.lines[i], {}}, {&hunk.lines[i], {}}});
      ++i;
      continue;
    }
    std::size_t middle = i;
    while (middle < hunk.lines.size() && hunk.lines[middle].mark == '-') ++middle;
    std::size_t end = middle;
    while (end < hunk.lines.size() && hunk.lines[end].mark == '+') ++end;
    pair_lines(hunk, i, middle, end, rows);
    i = end;
  }
  return rows;
}

namespace {

constexpr std::size_t kNumber = 5;  // columns of a line number

// One side of a row as terminal lines, each of exactly `width` columns of text after number and mark.
class Column {
 public:
  Column(std::size_t width, bool color) : text_width_(width - kNumber - 2), color_(color) {}

  std::vector<std::string> lines(const DiffSide& side, bool is_left) const {
    if (!side.line) return {};
    const DiffLine& line = *side.line;
    const std::size_t number = (is_left ? line.before : line.after) + 1;
    std::vector<std::string> out;
    std::size_t at = 0;
    do {
      std::size_t end = at, columns = 0;
      while (end < line.text.size() && columns < text_width_) {
        do ++end;
        while (end < line.text.size() && (line.text[end] & 0xC0) == 0x80);
        ++columns;
      }
      const std::string head =
          at == 0 ? fmt::format("{:>{}} {}", number, kNumber, line.mark) : std::string(kNumber + 1, ' ') + line.mark;
      out.push_back(painted(head, side, at, end) + std::string(text_width_ - columns, ' '));
      at = end;
    } while (at < line.text.size());
    return out;
  }

  std::string blank() const { return std::string(kNumber + 2 + text_width_, ' '); }

 private:
  std::string painted(const std::string& head, const DiffSide& side, std::size_t begin, std::size_t end) const {
    const DiffLine& line = *side.line;
    if (!color_ || line.mark == ' ') return head + line.text.substr(begin, end - begin);
    std::string out = (line.mark == '-' ? "\033[31m" : "\033[32m") + head;
    std::size_t at = begin;
    for (const ByteRange& r : side.changed) {
      const std::size_t from = std::clamp(r.begin, at, end), to = std::clamp(r.end, at, end);
      if (from == to) continue;
      out += line.text.substr(at, from - at) + "\033[7m" + line.text.substr(from, to - from) + "\033[27m";
      at = to;
    }
    return out + line.text.substr(at, end - at) + "\033[0m";
  }

  std::size_t text_width_;
  bool color_;
};

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string side_by_side(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                         std::size_t width, bool color) {
  constexpr std::size_t kLeast = 40;
  constexpr std::string_view kBetween = " | ";
  const std::size_t half = (std::max(width, kLeast) - kBetween.size()) / 2;
  const Column column(half, color);
  std::string left_name = cut(before_name, half);
  left_name.append(half - std::min(half, width_of(left_name)), ' ');
  std::string out = trimmed(left_name + std::string(kBetween) + cut(after_name, half));
  for (const DiffHunk& hunk : hunks) {
    out += color ? "\033[36m" + hunk.head() + "\033[0m\n" : hunk.head() + "\n";
    for (const DiffRow& row : diff_rows(hunk)) {
      const std::vector<std::string> left = column.lines(row.left, true), right = column.lines(row.right, false);
      for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i)
        out += trimmed((i < left.size() ? left[i] : column.blank()) + std::string(kBetween) +
                       (i < right.size() ? right[i] : std::string()));
    }
  }
  return out;
}

}  // namespace rldb::ui
