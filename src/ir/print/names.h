// Names within one printing: which node prints as which name, and which names are taken.
//
// Frames nest like scopes of the text; leaving one releases its names. A requested name that is taken gets `_1`, `_2`,
// ... (the lowest free number), as in TVM's printer. Finding that number is amortised O(1): per requested name the
// lowest number that may be free is remembered. Used by the printer only.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rldb/ir/node.h"

namespace rldb::ir::print_detail {

class Names {
 public:
  Names() { push(); }
  void push() { frames_.emplace_back(); }
  void pop();
  std::size_t depth() const { return frames_.size(); }

  // The text for a node, or empty when it has none.
  std::string_view find(const Node* n) const;
  bool has(const Node* n) const { return names_.count(n->id) != 0; }
  // Gives a node a unique name in the innermost frame, or in frame number `depth` (1 is the outermost).
  std::string_view define(const Node* n, std::string_view wanted) { return define_at(frames_.size(), n, wanted); }
  std::string_view define_at(std::size_t depth, const Node* n, std::string_view wanted);
  // The same for a name invented by the caller.
  std::string_view define_owned(const Node* n, std::string wanted) { return define(n, keep(std::move(wanted))); }
  // A node that is written as an expression rather than a name: `A.data`.
  void alias(const Node* n, std::string text) { alias_at(frames_.size(), n, std::move(text)); }
  void alias_at(std::size_t depth, const Node* n, std::string text);
  // Reserves a name that no node has.
  void reserve(std::string_view name);

 private:
  struct Entry {
    std::uint32_t node = 0;  // 0: a reserved name
    std::string_view name;   // empty: an alias takes no name
    std::string_view wanted;
    int number = 0;
  };
  struct Taken {
    std::string_view name;
    std::string_view wanted;
    int number;
  };
  std::string_view keep(std::string text);
  Taken take(std::string_view wanted);

  std::vector<std::vector<Entry>> frames_;
  std::unordered_map<std::uint32_t, std::string_view> names_;
  std::unordered_map<std::string_view, int> taken_;        // name -> how often it is held (1)
  std::unordered_map<std::string_view, int> next_number_;  // requested name -> lowest number that may be free
  std::deque<std::string> made_;
};

}  // namespace rldb::ir::print_detail
