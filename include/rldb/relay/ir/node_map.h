// A map from nodes, by their ids, as an open table: passes over large programs ask for little else. Nodes that are made
// one after another lie side by side in it. References to values hold until the next insertion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "rldb/relay/ir/expr.h"
#include "rldb/support/check.h"

namespace rldb::relay {

template <class T, class Node = Expr>
class NodeMap {
 public:
  using value_type = std::pair<const Node*, T>;  // the key is null where there is none

  template <class Entry>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    using pointer = Entry*;
    using reference = Entry&;

    Iterator(Entry* at, Entry* end) : at_(at), end_(end) {}
    Entry& operator*() const { return *at_; }
    Entry* operator->() const { return at_; }
    Iterator& operator++() {
      do ++at_;
      while (at_ != end_ && !at_->first);
      return *this;
    }
    bool operator==(const Iterator& o) const { return at_ == o.at_; }

   private:
    Entry *at_, *end_;
  };
  using iterator = Iterator<value_type>;
  using const_iterator = Iterator<const value_type>;

  iterator end() { return {table_.data() + table_.size(), table_.data() + table_.size()}; }
  const_iterator end() const { return {table_.data() + table_.size(), table_.data() + table_.size()}; }
  iterator begin() { return first_of<iterator>(*this); }
  const_iterator begin() const { return first_of<const_iterator>(*this); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  iterator find(const Node* n) { return find_in<iterator>(*this, n); }
  const_iterator find(const Node* n) const { return find_in<const_iterator>(*this, n); }
  bool contains(const Node* n) const { return find(n) != end(); }
  const T& at(const Node* n) const {
    const auto found = find(n);
    RLDB_CHECK(found != end(), "the node is in the map");
    return found->second;
  }
  T& at(const Node* n) { return const_cast<T&>(std::as_const(*this).at(n)); }

  template <class... Args>
  std::pair<iterator, bool> try_emplace(const Node* n, Args&&... args) {
    RLDB_CHECK(n, "a node is a key");
    if ((size_ + 1) * 2 > table_.size()) grow();
    value_type& entry = table_[slot(n)];
    const bool is_new = !entry.first;
    if (is_new) {
      entry.first = n;
      entry.second = T(std::forward<Args>(args)...);
      ++size_;
    }
    return {iterator(&entry, table_.data() + table_.size()), is_new};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(const Node* n, Args&&... args) {
    return try_emplace(n, std::forward<Args>(args)...);
  }
  T& operator[](const Node* n) { return try_emplace(n).first->second; }

 private:
  template <class It, class Map>
  static It first_of(Map& map) {
    It it(map.table_.data(), map.table_.data() + map.table_.size());
    if (!map.table_.empty() && !it->first) ++it;
    return it;
  }
  template <class It, class Map>
  static It find_in(Map& map, const Node* n) {
    auto* const table = map.table_.data();
    auto* const end = table + map.table_.size();
    if (!n || map.table_.empty()) return {end, end};
    auto* const entry = table + map.slot(n);
    return {entry->first ? entry : end, end};
  }
  // Of the node, or the empty one where it would be.
  std::size_t slot(const Node* n) const {
    // Ids of eight in a row stay together, and the eights are spread: runs of ids would otherwise lie over each other.
    const std::size_t mask = table_.size() - 1;
    const std::uint64_t spread = (n->id / 8) * std::uint64_t(0x9E3779B97F4A7C15);
    std::size_t at = ((spread >> 32) * 8 + n->id % 8) & mask;
    while (table_[at].first && table_[at].first != n) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<value_type> old(table_.empty() ? 8 : table_.size() * 2);
    old.swap(table_);
    for (value_type& e : old)
      if (e.first) table_[slot(e.first)] = std::move(e);
  }

  std::vector<value_type> table_;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace rldb::relay
