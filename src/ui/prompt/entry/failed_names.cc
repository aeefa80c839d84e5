#include "rldb/ui/prompt/failed_names.h"

#include <algorithm>

#include "rldb/support/text.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kLastEntries = 10;
constexpr std::size_t kMostLines = 100;  // a pasted function may have any number
constexpr std::size_t kMostShown = 60;

// `q` of `q = ...` and `q: TYPE = ...`, `q` and `k` of `q, k = ...`; also where the rest is damaged.
std::vector<std::string> names_before_equals(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || line.substr(equals).starts_with("==")) return {};
  std::string_view targets = line.substr(0, equals);
  targets = targets.substr(0, targets.find(':'));
  std::vector<std::string> names;
  while (!targets.empty()) {
    const std::size_t comma = targets.find(',');
    const std::string_view name = support::trim(targets.substr(0, comma));
    if (!is_one_name(name)) return {};
    names.emplace_back(name);
    targets.remove_prefix(comma == std::string_view::npos ? targets.size() : comma + 1);
  }
  return names;
}

}  // namespace

void FailedNames::note(std::string_view entry, bool failed) {
  ++entries_;
  while (!lines_.empty() && lines_.front().entry + kLastEntries < entries_) lines_.pop_front();
  if (!failed || entry.starts_with(':')) return;
  while (!entry.empty()) {
    const std::size_t end = std::min(entry.find('\n'), entry.size());
    const std::string_view line = support::trim(entry.substr(0, end));
    if (auto names = names_before_equals(line); !names.empty() && lines_.size() < kMostLines)
      lines_.push_back({support::one_line(line, kMostShown), std::move(names), entries_});
    entry.remove_prefix(std::min(end + 1, entry.size()));
  }
}

std::string_view FailedNames::entry_of(std::string_view name) const {
  for (auto l = lines_.rbegin(); l != lines_.rend(); ++l)
    if (std::find(l->names.begin(), l->names.end(), name) != l->names.end()) return l->line;
  return {};
}

}  // namespace rldb::ui
