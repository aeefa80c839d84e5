// The map of nodes: what is put in is found, whatever the ids are.
#include "rldb/relay/ir/node_map.h"

#include <doctest/doctest.h>

#include <deque>
#include <set>

using namespace rldb::relay;

TEST_CASE("a map of nodes finds what was put in, and nothing else") {
  std::deque<Var> nodes;
  NodeMap<int> map;
  // Runs of ids that overlap when they are cut to the size of the table, and two nodes of one id (of two contexts).
  std::uint32_t n = 0;
  for (const std::uint32_t start : {0u, 1024u, 4096u, 4096u, 1u << 20})
    for (std::uint32_t i = 0; i < 700; ++i) {
      nodes.push_back({});
      nodes.back().id = start + i;
      if (n % 3 != 0) map[&nodes.back()] = int(n);
      ++n;
    }
  std::size_t held = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const auto found = map.find(&nodes[i]);
    CHECK((found != map.end()) == (i % 3 != 0));
    if (found == map.end()) continue;
    ++held;
    CHECK(found->second == int(i));
    CHECK(!map.try_emplace(&nodes[i], -1).second);
    CHECK(map.at(&nodes[i]) == int(i));
  }
  CHECK(map.size() == held);
  CHECK(!map.contains(nullptr));
  std::set<int> seen;
  for (const auto& [node, value] : map) seen.insert(value);
  CHECK(seen.size() == held);
  const NodeMap<int> empty;
  CHECK(!empty.contains(&nodes[0]));
  CHECK(empty.begin() == empty.end());
}
