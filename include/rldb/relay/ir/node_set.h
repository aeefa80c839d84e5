// A set of expressions, for walks over graphs: a bit for each id, once there are more than a few.
// Users: walks in relay_ops, relay/passes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rldb/relay/ir/expr.h"

namespace rldb::relay {

class NodeSet {
 public:
  // False: it was in the set already.
  bool insert(const Expr* e) {
    if (words_.empty()) {
      if (std::find(few_.begin(), few_.end(), e->id) != few_.end()) return false;
      few_.push_back(e->id);
      if (few_.size() <= kFew) return true;
      for (const std::uint32_t id : few_) set(id);
      return true;
    }
    return set(e->id);
  }
  bool contains(const Expr* e) const {
    if (words_.empty()) return std::find(few_.begin(), few_.end(), e->id) != few_.end();
    return e->id / 64 < words_.size() && (words_[e->id / 64] >> e->id % 64 & 1) != 0;
  }

 private:
  static constexpr std::size_t kFew = 32;  // a large program is full of small functions

  bool set(std::uint32_t id) {
    const std::size_t at = id / 64;
    if (words_.size() <= at) words_.resize(std::max(at + 1, words_.size() * 2));
    const std::uint64_t bit = std::uint64_t(1) << (id % 64);
    const bool is_new = (words_[at] & bit) == 0;
    words_[at] |= bit;
    return is_new;
  }

  std::vector<std::uint32_t> few_;
  std::vector<std::uint64_t> words_;
};

}  // namespace rldb::relay
