// Groups of small graphs, by the numbers of their nodes.
#include "rldb/fusion/partition.h"

#include <doctest/doctest.h>

#include <map>

using namespace rldb::fusion;

namespace {

using Groups = std::vector<std::size_t>;

FusionNode node(OpPattern pattern, std::vector<FusionEdge> readers) { return {pattern, readers.empty(), readers}; }

// Numbered in order of appearance.
Groups groups(const std::vector<FusionNode>& nodes, std::size_t max_depth = 256) {
  Groups found = partition(nodes, max_depth);
  std::map<std::size_t, std::size_t> number;
  for (std::size_t& g : found) g = number.try_emplace(g, number.size()).first->second;
  return found;
}

}  // namespace

TEST_CASE("a matmul takes what follows it, and a reduction begins anew behind it") {
  const std::vector<FusionNode> nodes{node(kOutEWiseFusable, {{1, kBroadcast}}), node(kBroadcast, {{2, kElemWise}}),
                                      node(kElemWise, {{3, kReduce}}), node(kReduce, {})};
  CHECK(groups(nodes) == Groups{0, 1, 1, 1});
  const std::vector<FusionNode> elementwise{node(kOutEWiseFusable, {{1, kElemWise}}), node(kElemWise, {})};
  CHECK(groups(elementwise) == Groups{0, 0});
}

TEST_CASE("both ways of a diamond, or none of them") {
  const auto diamond = [](OpPattern side) {
    return std::vector<FusionNode>{node(kElemWise, {{1, kElemWise}, {2, side}}), node(kElemWise, {{3, kElemWise}}),
                                   node(side, {{3, kElemWise}}), node(kElemWise, {})};
  };
  CHECK(groups(diamond(kElemWise)) == Groups{0, 0, 0, 0});
  CHECK(groups(diamond(kOpaque)) == Groups{0, 1, 2, 1});
}

TEST_CASE("a result that is seen from outside ends its group") {
  std::vector<FusionNode> nodes{node(kElemWise, {{1, kElemWise}}), node(kElemWise, {{2, kElemWise}}),
                                node(kElemWise, {})};
  CHECK(groups(nodes) == Groups{0, 0, 0});
  nodes[1].is_result = true;
  CHECK(groups(nodes) == Groups{0, 0, 1});
}

TEST_CASE("what injective operators read as a tuple is computed with them") {
  const auto graph = [](OpPattern reader) {
    return std::vector<FusionNode>{node(kElemWise, {{2, kInjective}}), node(kReduce, {{2, kInjective}}),
                                   node(kTuple, {{3, reader}}), node(reader, {})};
  };
  CHECK(groups(graph(kInjective)) == Groups{0, 1, 0, 0});
  CHECK(groups(graph(kOpaque)) == Groups{0, 1, 2, 3});
}

TEST_CASE("a group has a largest size") {
  std::vector<FusionNode> nodes;
  for (std::size_t i = 0; i < 6; ++i)
    nodes.push_back(
        node(kElemWise, i + 1 < 6 ? std::vector<FusionEdge>{{i + 1, kElemWise}} : std::vector<FusionEdge>{}));
  CHECK(groups(nodes, 2) == Groups{0, 0, 1, 1, 2, 2});
  CHECK(groups(nodes) == Groups{0, 0, 0, 0, 0, 0});
}
