// Private parts of Context: its tables and the two templates that every maker goes through.
//
// InternTable is open addressing over (hash, pointer): a type is looked up for every binding that is made.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/ir/equal.h"

namespace rldb::ir {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 12) + (h >> 4);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

template <class T>
class InternTable {
 public:
  // The entry with this hash that `same` accepts, or null.
  template <class Same>
  const T* find(std::uint64_t hash, Same&& same) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = hash & (slots_.size() - 1); slots_[i].item; i = (i + 1) & (slots_.size() - 1))
      if (slots_[i].hash == hash && same(slots_[i].item)) return slots_[i].item;
    return nullptr;
  }
  void insert(std::uint64_t hash, const T* item) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    place(hash, item);
    ++count_;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    const T* item = nullptr;
  };
  void place(std::uint64_t hash, const T* item) {
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].item) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {hash, item};
  }
  void grow() {
    // Allocation may throw: the old table is kept until the new one exists.
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2, Slot{});
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.item) place(s.hash, s.item);
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

struct Context::Tables {
  std::unordered_set<std::string_view> strings;
  InternTable<Type> types;
  std::unordered_map<std::uint32_t, const PrimType*> prims;  // by the bits of the dtype
  InternTable<GlobalVar> globals;
  InternTable<VDevice> vdevices;
  std::unordered_map<std::string_view, const Op*> ops;
  std::deque<runtime::Value> values;  // constants: addresses are stable
  const Attr* none = nullptr;
  const Attr* bools[2] = {};
};

inline std::uint32_t dtype_bits(DType t) {
  return std::uint32_t(t.code) | std::uint32_t(t.bits) << 8 | std::uint32_t(std::uint16_t(t.lanes)) << 16;
}

template <class T, class... A>
const T* Context::make(NodeKind kind, A&&... fields) {
  return arena_.make<T>(Node{kind, next_id_++}, std::forward<A>(fields)...);
}
template <class T, class... A>
const T* Context::make_expr(NodeKind kind, const Type* type, A&&... fields) {
  RLDB_CHECK(type != nullptr, "an expression needs a type");
  return arena_.make<T>(Expr{Node{kind, next_id_++}, type}, std::forward<A>(fields)...);
}

}  // namespace rldb::ir
