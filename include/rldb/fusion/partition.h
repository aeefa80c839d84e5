// Which nodes of a graph are computed together: the partition that FuseOps turns into functions.
//
// The rule is TVM's: a node may join the node where all paths from it meet again (its immediate post-dominator) when
// every node in between may be fused. So no group depends on a node that depends on the group. Three sweeps over the
// graph: into producers that elementwise operators may follow and elementwise chains; injective chains, to the tuples
// that injective operators read among them; whatever may be computed in place of such a tuple's fields.
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

// In topological order: edges lead forward only.
struct FusionNode {
  OpPattern pattern = kOpaque;
  bool is_result = false;  // visible from outside: it ends its group
  std::vector<FusionEdge> readers;
};

// The group of each node: two nodes with the same number are in one group.
std::vector<std::size_t> partition(const std::vector<FusionNode>& nodes, std::size_t max_depth);

}  // namespace rldb::fusion
