// Scope: names that are visible at a place of the text, with shadowing; and what became of those that no longer are.
//
// Entries are never removed, only unlinked, so that a failed lookup can say "was defined there, but ...".
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/script/value.h"

namespace rldb::frontend::script {

enum class ScopeKind : std::uint8_t { Function, Dataflow, Branch, Block, Loop };

class Scope {
 public:
  struct Entry {
    std::string_view name;
    Val value;
    source::Span span;
    std::uint32_t shadowed;  // entry of the same name outside, or kNone
    ScopeKind left_as = ScopeKind::Function;
    bool live = true;
  };

  const Val* find(std::string_view name) const {
    const auto it = live_.find(name);
    return it == live_.end() || it->second == kNone ? nullptr : &entries_[it->second].value;
  }
  const Entry* find_entry(std::string_view name) const {
    const auto it = live_.find(name);
    return it == live_.end() || it->second == kNone ? nullptr : &entries_[it->second];
  }
  void define(std::string_view name, const Val& value, source::Span span) {
    auto [it, fresh] = live_.try_emplace(name, kNone);
    const auto at = static_cast<std::uint32_t>(entries_.size());
    // A name defined again in the same scope replaces its entry: no chain to unwind.
    if (!fresh && it->second != kNone && it->second >= mark()) {
      Entry& e = entries_[it->second];
      e.value = value;
      e.span = span;
      return;
    }
    entries_.push_back({name, value, span, it->second});
    it->second = at;
  }
  void enter(ScopeKind kind) { marks_.push_back({static_cast<std::uint32_t>(entries_.size()), kind}); }
  void leave() {
    const auto [mark, kind] = marks_.back();
    for (std::uint32_t i = static_cast<std::uint32_t>(entries_.size()); i-- > mark;) {
      Entry& e = entries_[i];
      if (!e.live) continue;
      live_[e.name] = e.shadowed;
      e.live = false;
      e.left_as = kind;
    }
    marks_.pop_back();
  }
  // The latest entry of that name that went out of scope.
  const Entry* find_left(std::string_view name) const {
    for (std::size_t i = entries_.size(); i-- > 0;)
      if (!entries_[i].live && entries_[i].name == name) return &entries_[i];
    return nullptr;
  }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> out;
    for (const auto& [name, at] : live_)
      if (at != kNone) out.push_back(name);
    return out;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t(0);
  std::uint32_t mark() const { return marks_.empty() ? 0 : marks_.back().first; }
  std::unordered_map<std::string_view, std::uint32_t> live_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::uint32_t, ScopeKind>> marks_;
};

}  // namespace rldb::frontend::script
