// Scope: names that are visible at a place of the text, with shadowing; and the fate of those that no longer are.
//
// Every name that was ever looked up or defined has a slot; a slot knows its innermost live entry. Entries are never
// removed, only unlinked, so that a failed lookup can tell "was defined there, but ...". The scope keeps the names, so
// that it may outlive the text. BodyMemo looks up and defines by slot.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/script/value/value.h"

namespace rldb::frontend::script {

enum class ScopeKind : std::uint8_t { Function, Dataflow, Branch, Block, Loop };

class Scope {
 public:
  using Slot = std::uint32_t;
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  struct Entry {
    Slot slot;
    Val value;
    source::Span span;
    std::uint32_t shadowed;  // entry of the same name outside, or kNone
    ScopeKind left_as = ScopeKind::Function;
    bool live = true;
  };

  Slot slot(std::string_view name) {
    if (const auto it = slots_.find(name); it != slots_.end()) return it->second;
    names_.emplace_back(name);
    const auto made = static_cast<Slot>(live_.size());
    slots_.emplace(names_.back(), made);
    live_.push_back(kNone);
    return made;
  }
  std::string_view name(Slot slot) const { return names_[slot]; }

  const Entry* find_entry(Slot slot) const {
    std::uint32_t at = live_[slot];
    while (at != kNone && is_hidden(at)) at = entries_[at].shadowed;
    return at == kNone ? nullptr : &entries_[at];
  }
  const Entry* find_entry(std::string_view name) const {
    const auto it = slots_.find(name);
    return it == slots_.end() ? nullptr : find_entry(it->second);
  }
  // The entry that the innermost open scope has of that name.
  const Entry* find_here(std::string_view name) const {
    const Entry* e = find_entry(name);
    return e && e - &entries_[0] >= std::ptrdiff_t(mark()) ? e : nullptr;
  }
  const Val* find(std::string_view name) const {
    const Entry* e = find_entry(name);
    return e ? &e->value : nullptr;
  }

  void define(std::string_view name, const Val& value, source::Span span) { define(slot(name), value, span); }
  void define(Slot slot, const Val& value, source::Span span) {
    if (log_ && marks_.size() == log_depth_) log_->push_back(slot);
    std::uint32_t& live = live_[slot];
    // A name defined again in the same scope replaces its entry: no chain to unwind.
    if (live != kNone && live >= mark()) {
      entries_[live].value = value;
      entries_[live].span = span;
      return;
    }
    entries_.push_back({slot, value, span, live});
    live = static_cast<std::uint32_t>(entries_.size() - 1);
  }
  void enter(ScopeKind kind) { marks_.push_back({static_cast<std::uint32_t>(entries_.size()), kind}); }
  void leave() {
    const auto [mark, kind] = marks_.back();
    for (std::uint32_t i = static_cast<std::uint32_t>(entries_.size()); i-- > mark;) {
      Entry& e = entries_[i];
      if (!e.live) continue;
      live_[e.slot] = e.shadowed;
      e.live = false;
      e.left_as = kind;
      any_left_ = true;
    }
    marks_.pop_back();
  }
  // The latest entry of that name that went out of scope.
  const Entry* find_left(std::string_view name) const {
    const auto it = any_left_ ? slots_.find(name) : slots_.end();
    if (it == slots_.end()) return nullptr;
    for (std::size_t i = entries_.size(); i-- > 0;)
      if (!entries_[i].live && entries_[i].slot == it->second) return &entries_[i];
    return nullptr;
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (std::size_t i = 0; i < live_.size(); ++i)
      if (find_entry(static_cast<Slot>(i))) out.push_back(names_[i]);
    return out;
  }

  // ---- for macros: a body that is read far from its definition ----

  // How many scopes are open.
  std::size_t depth() const { return marks_.size(); }
  // Entries that lookups pass over: [begin, end).
  struct Hidden {
    std::uint32_t begin = 0, end = 0;
  };
  // The first entry of the scopes that are deeper than `depth`, and of the innermost one.
  std::uint32_t first_below(std::size_t depth) const { return depth < marks_.size() ? marks_[depth].first : size(); }
  std::uint32_t first_innermost() const { return mark(); }
  // Returns what was hidden before.
  Hidden hide(Hidden range) { return std::exchange(hidden_, range); }
  // Whether a name has a value that is hidden now.
  bool hides(std::string_view name) const {
    const auto it = slots_.find(name);
    return it != slots_.end() && live_[it->second] != kNone && is_hidden(live_[it->second]);
  }

  // ---- for BodyMemo ----

  // Slots defined from now on at the present depth are appended to `log`; null ends it.
  void record(std::vector<Slot>* log) {
    log_ = log;
    log_depth_ = marks_.size();
  }
  // Of the entries from the one numbered `begin` on, those that went out of scope.
  template <class F>
  void for_each_left(std::uint32_t begin, F&& f) const {
    for (std::uint32_t i = begin; i < entries_.size(); ++i)
      if (!entries_[i].live) f(entries_[i]);
  }
  void add_left(Slot slot, ScopeKind as, const Val& value, source::Span span) {
    entries_.push_back({slot, value, span, kNone, as, false});
    any_left_ = true;
  }
  // The number of entries: an entry with a higher index is younger.
  std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
  bool is_younger(const Entry* e, std::uint32_t size) const { return e - entries_.data() >= std::ptrdiff_t(size); }
  std::vector<Entry> entries() const { return entries_; }
  // Back to the state in which `entries()` had this value, with no inner scope open. Slots stay.
  void rewind(const std::vector<Entry>& entries) {
    entries_ = entries;
    marks_.clear();
    any_left_ = std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.live; });
    live_.assign(live_.size(), kNone);
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].live) live_[entries_[i].slot] = i;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);
  bool is_hidden(std::uint32_t entry) const { return entry >= hidden_.begin && entry < hidden_.end; }
  std::uint32_t mark() const { return marks_.empty() ? 0 : marks_.back().first; }
  std::deque<std::string> names_;  // by slot
  std::unordered_map<std::string_view, Slot> slots_;
  std::vector<std::uint32_t> live_;  // by slot: index of the entry, or kNone
  std::vector<Entry> entries_;
  std::vector<std::pair<std::uint32_t, ScopeKind>> marks_;
  Hidden hidden_;
  bool any_left_ = false;
  std::vector<Slot>* log_ = nullptr;
  std::size_t log_depth_ = 0;
};

}  // namespace rldb::frontend::script
