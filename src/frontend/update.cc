// Edits that make one text of another, by lines.
#include <algorithm>
#include <unordered_map>

#include "frontend/joined_edits.h"
#include "rldb/frontend/document.h"
#include "rldb/support/line_diff.h"

namespace rldb::frontend {

namespace {

// Each edit is read by itself: for this many and more, one that covers all is read faster.
constexpr std::size_t kMostEdits = 32;

// Byte offsets of the lines of a part of a text; the last is the part's end.
std::vector<std::uint32_t> line_starts(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> starts{static_cast<std::uint32_t>(begin)};
  for (std::size_t at = begin; at < end;) {
    const std::size_t line = text.find('\n', at);
    at = line == std::string_view::npos ? end : std::min(line + 1, end);
    starts.push_back(static_cast<std::uint32_t>(at));
  }
  return starts;
}

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Length of what both begin with, in whole characters.
std::size_t common_head(std::string_view a, std::string_view b) {
  const auto [x, y] = std::mismatch(a.begin(), a.begin() + std::ptrdiff_t(std::min(a.size(), b.size())), b.begin());
  std::size_t n = std::size_t(x - a.begin());
  while (n > 0 && (inside_character(a, n) || inside_character(b, n))) --n;
  return n;
}

std::size_t common_tail(std::string_view a, std::string_view b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[a.size() - 1 - n] == b[b.size() - 1 - n]) ++n;
  while (n > 0 && (inside_character(a, a.size() - n) || inside_character(b, b.size() - n))) --n;
  return n;
}

class Edits {
 public:
  Edits(std::string_view before, std::string_view after) : before_(before), after_(after) {}

  void replace(std::size_t begin, std::size_t end, std::size_t from, std::size_t to) {
    if (begin == end && from == to) return;
    const std::string_view old = before_.substr(begin, end - begin), fresh = after_.substr(from, to - from);
    // Lines put in or taken out between two others belong to the end of the line before: an edit inside of the function
    // that this line is in.
    if ((old.empty() || fresh.empty()) && begin > 0 && before_[begin - 1] == '\n' && from > 0 &&
        after_[from - 1] == '\n' && (old.empty() ? fresh : old).back() == '\n') {
      return add(begin - 1, end - 1, from - 1, to - 1);
    }
    const std::size_t head = common_head(old, fresh);
    const std::size_t tail = common_tail(old.substr(head), fresh.substr(head));
    add(begin + head, end - tail, from + head, to - tail);
  }
  std::vector<TextReplacement> take() { return std::move(all_); }

 private:
  void add(std::size_t begin, std::size_t end, std::size_t from, std::size_t to) {
    all_.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), after_.substr(from, to - from)});
  }

  std::string_view before_, after_;
  std::vector<TextReplacement> all_;
};

}  // namespace

std::uint32_t TextEdit::moved(std::uint32_t offset) const {
  if (offset <= begin) return offset;
  if (offset >= old_end) return offset + static_cast<std::uint32_t>(delta());
  return std::min(offset, new_end);
}

TextEdit joined(const TextEdit& first, const TextEdit& next) {
  TextEdit e;
  e.begin = std::min(first.begin, next.begin);
  e.old_end = first.old_end;
  if (next.old_end > first.new_end) e.old_end += next.old_end - first.new_end;
  e.new_end = static_cast<std::uint32_t>(e.old_end + first.delta() + next.delta());
  return e;
}

std::vector<TextReplacement> edits_between(std::string_view before, std::string_view after) {
  Edits edits(before, after);
  if (before == after) return {};
  // Whole lines at both ends.
  std::size_t head = common_head(before, after);
  while (head > 0 && before[head - 1] != '\n') --head;
  std::size_t tail = common_tail(before.substr(head), after.substr(head));
  while (tail > 0 && tail < before.size() && before[before.size() - tail - 1] != '\n') --tail;
  const std::size_t old_end = before.size() - tail, new_end = after.size() - tail;
  const std::vector<std::uint32_t> a = line_starts(before, head, old_end), b = line_starts(after, head, new_end);
  std::unordered_map<std::string_view, std::uint32_t> ids;
  const auto numbers = [&](std::string_view text, const std::vector<std::uint32_t>& starts) {
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
      out.push_back(
          ids.emplace(text.substr(starts[i], starts[i + 1] - starts[i]), std::uint32_t(ids.size())).first->second);
    return out;
  };
  auto kept = support::kept_pairs(numbers(before, a), numbers(after, b));
  kept.emplace_back(a.size() - 1, b.size() - 1);
  std::size_t i = 0, j = 0;
  for (const auto& [x, y] : kept) {
    edits.replace(a[i], a[x], b[j], b[y]);
    i = x + 1, j = y + 1;
  }
  std::vector<TextReplacement> found = edits.take();
  if (found.size() < kMostEdits) return found;
  edits.replace(head, old_end, head, new_end);
  return edits.take();
}

}  // namespace rldb::frontend
