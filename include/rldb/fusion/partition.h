// Which nodes of a graph are computed together: the partition that FuseOps makes functions of.
//
// The rule is TVM's: a node may join the node where all paths from it meet again (its immediate post-dominator) when
// every node in between may be fused. So no group depends on a node that depends on the group. Three looks over the
// graph: into producers that elementwise operators may follow and elementwise chains; injective chains, to the tuples
// that injective operators read among them; what may be computed in the place of such a tuple's fields.
// Users: FuseOps of Relax, over the bindings of a block; FuseOps of Relay, over the nodes of a graph.
#pragma once

#include <cstddef>
#include <vector>

#include "rldb/fusion/op_pattern.h"

namespace rldb::fusion {

struct FusionEdge {
  std::size_t to;
  OpPattern pattern;  // of the reader
};

// In an order in which edges lead forward only.
struct FusionNode {
  OpPattern pattern = kOpaque;
  bool is_result = false;  // seen from outside: it ends its group
  std::vector<FusionEdge> readers;
};

// The group of each node: two nodes with one number are one group.
std::vector<std::size_t> partition(const std::vector<FusionNode>& nodes, std::size_t max_depth);

}  // namespace rldb::fusion
