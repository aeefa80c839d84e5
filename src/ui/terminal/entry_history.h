// EntryHistory: the entries of this session and of earlier ones, and the current position while the arrows are used.
//
// One item per entry, whether one line or several. An entry that is entered again moves to the end. Changes to an older
// entry stay there until an entry is accepted.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::ui {

class EntryHistory {
 public:
  // Oldest first.
  explicit EntryHistory(std::vector<std::string> entries = {});
  // False: it is already the last one.
  bool add(const std::string& entry);
  const std::vector<std::string>& entries() const { return entries_; }

  // Begins a new entry.
  void begin();
  // To the nearest older (newer) entry that begins with `prefix` and differs from `now`, the text at this position. The
  // newest position holds the text that was being typed, whatever the prefix. Null: there is none.
  const std::string* older(std::string_view prefix, const std::string& now);
  const std::string* newer(std::string_view prefix, const std::string& now);
  const std::string* oldest(const std::string& now);
  const std::string* newest(const std::string& now);
  // The newest entry that begins with the text and is longer. Null: there is none.
  const std::string* newest_with(std::string_view text) const;
  // The text is an unchanged entry of the history.
  bool is_recalled(std::string_view text) const { return at_ < entries_.size() && entries_[at_] == text; }

 private:
  const std::string& text_at(std::size_t i) const;
  const std::string* go(std::size_t to, const std::string& now);
  std::vector<std::string> entries_;
  std::map<std::size_t, std::string> changed_;  // by position; that of the new entry is entries_.size()
  std::size_t at_ = 0;
};

}  // namespace rldb::ui
