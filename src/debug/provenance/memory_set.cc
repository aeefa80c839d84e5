#include "debug/provenance/memory_set.h"

#include <algorithm>

namespace rldb::debug {

void MemorySet::add(const void* memory, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  auto& pieces = pieces_[memory];
  auto at = pieces.upper_bound(begin);
  if (at != pieces.begin() && std::prev(at)->second >= begin) --at;
  while (at != pieces.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = pieces.erase(at);
  }
  pieces.emplace(begin, end);
}

void MemorySet::remove(const void* memory, std::int64_t begin, std::int64_t end) {
  const auto found = pieces_.find(memory);
  if (found == pieces_.end() || begin >= end) return;
  auto& pieces = found->second;
  auto at = pieces.upper_bound(begin);
  if (at != pieces.begin() && std::prev(at)->second > begin) --at;
  while (at != pieces.end() && at->first < end) {
    const Piece old{at->first, at->second};
    at = pieces.erase(at);
    if (old.begin < begin) pieces.emplace(old.begin, begin);
    if (old.end > end) pieces.emplace(end, old.end);
  }
  if (pieces.empty()) pieces_.erase(found);
}

bool MemorySet::overlaps(const void* memory, std::int64_t begin, std::int64_t end) const {
  const auto* pieces = of(memory);
  if (!pieces || begin >= end) return false;
  const auto at = pieces->lower_bound(end);
  return at != pieces->begin() && std::prev(at)->second > begin;
}

std::vector<MemorySet::Piece> MemorySet::in(const void* memory, std::int64_t begin, std::int64_t end,
                                            std::size_t most) const {
  std::vector<Piece> found;
  const auto* pieces = of(memory);
  if (!pieces) return found;
  auto at = pieces->upper_bound(begin);
  if (at != pieces->begin() && std::prev(at)->second > begin) --at;
  for (; at != pieces->end() && at->first < end && found.size() < most; ++at)
    found.push_back({std::max(begin, at->first), std::min(end, at->second)});
  return found;
}

const std::map<std::int64_t, std::int64_t>* MemorySet::of(const void* memory) const {
  const auto found = pieces_.find(memory);
  return found == pieces_.end() ? nullptr : &found->second;
}

std::vector<const void*> MemorySet::memories() const {
  std::vector<const void*> all;
  for (const auto& [memory, pieces] : pieces_) all.push_back(memory);
  return all;
}

}  // namespace rldb::debug
