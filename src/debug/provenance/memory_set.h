// Bytes of several memories, as disjoint ranges. Users: the influence of an element, ForwardKernel.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace rldb::debug {

class MemorySet {
 public:
  struct Piece {
    std::int64_t begin = 0, end = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  void add(const void* memory, std::int64_t begin, std::int64_t end);
  void remove(const void* memory, std::int64_t begin, std::int64_t end);
  void forget(const void* memory) { pieces_.erase(memory); }
  bool overlaps(const void* memory, std::int64_t begin, std::int64_t end) const;
  // The parts in a range, ascending, the first `most`; neighbours are one piece.
  std::vector<Piece> in(const void* memory, std::int64_t begin, std::int64_t end,
                        std::size_t most = std::size_t(-1)) const;
  // Null if there are none. By their begin, the end behind it.
  const std::map<std::int64_t, std::int64_t>* of(const void* memory) const;
  std::vector<const void*> memories() const;
  bool empty() const { return pieces_.empty(); }

 private:
  std::map<const void*, std::map<std::int64_t, std::int64_t>> pieces_;  // no empty map
};

}  // namespace rldb::debug
