// A binary search that several ask at once. Room-private.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace rldb::repro {

// The first `count` numbers that a binary search between the two may ask: the middle, then those of both halves, and so
// on. Whatever the answers are, the search takes the way that it takes alone.
inline std::vector<std::int64_t> next_middles(std::int64_t good, std::int64_t bad, std::size_t count) {
  std::vector<std::int64_t> out;
  std::deque<std::pair<std::int64_t, std::int64_t>> open{{good, bad}};
  while (!open.empty() && out.size() < count) {
    const auto [low, high] = open.front();
    open.pop_front();
    if (high - low < 2) continue;
    const std::int64_t middle = low + (high - low) / 2;
    out.push_back(middle);
    open.emplace_back(low, middle);
    open.emplace_back(middle, high);
  }
  return out;
}

}  // namespace rldb::repro
