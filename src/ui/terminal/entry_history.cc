#include "ui/terminal/entry_history.h"

#include <algorithm>
#include <unordered_set>

#include "rldb/ui/terminal/history_file.h"

namespace rldb::ui {

EntryHistory::EntryHistory(std::vector<std::string> entries) {
  // Of equal entries the last one is kept.
  std::unordered_set<std::string_view> seen;
  std::vector<std::size_t> kept;
  for (std::size_t i = entries.size(); i-- > 0;)
    if (seen.insert(entries[i]).second) kept.push_back(i);
  for (std::size_t i = kept.size(); i-- > 0;) entries_.push_back(std::move(entries[kept[i]]));
  begin();
}

bool EntryHistory::add(const std::string& entry) {
  if (!entries_.empty() && entries_.back() == entry) return false;
  std::erase(entries_, entry);
  entries_.push_back(entry);
  if (entries_.size() > kMaxHistory) entries_.erase(entries_.begin());
  begin();
  return true;
}

void EntryHistory::begin() {
  changed_.clear();
  at_ = entries_.size();
}

const std::string& EntryHistory::text_at(std::size_t i) const {
  static const std::string kEmpty;
  const auto found = changed_.find(i);
  if (found != changed_.end()) return found->second;
  return i < entries_.size() ? entries_[i] : kEmpty;
}

const std::string* EntryHistory::go(std::size_t to, const std::string& now) {
  if (to == at_) return nullptr;
  if (text_at(at_) != now) changed_[at_] = now;
  at_ = to;
  return &text_at(at_);
}

const std::string* EntryHistory::older(std::string_view prefix, const std::string& now) {
  for (std::size_t i = at_; i-- > 0;)
    if (text_at(i).starts_with(prefix) && text_at(i) != now) return go(i, now);
  return nullptr;
}

const std::string* EntryHistory::newer(std::string_view prefix, const std::string& now) {
  for (std::size_t i = at_ + 1; i <= entries_.size(); ++i)
    if (i == entries_.size() || (text_at(i).starts_with(prefix) && text_at(i) != now)) return go(i, now);
  return nullptr;
}

const std::string* EntryHistory::newest_with(std::string_view text) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    if (entry->size() > text.size() && entry->starts_with(text)) return &*entry;
  return nullptr;
}

const std::string* EntryHistory::oldest(const std::string& now) { return go(0, now); }
const std::string* EntryHistory::newest(const std::string& now) { return go(entries_.size(), now); }

}  // namespace rldb::ui
