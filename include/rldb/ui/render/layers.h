// A directed graph laid out in layers, from top to bottom: edges lead downwards where the graph has no cycle.
//
// Each node is below all of its inputs; edges over several layers pass through points of their own, and the order
// within a layer is chosen to leave few crossings (barycentres, swept down and up). Deterministic.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace rldb::ui {

struct LayerNode {
  double width = 0;
  std::vector<int> inputs;  // indices of nodes before it
};

struct LayerLayout {
  struct Place {
    double x = 0, y = 0;  // of the middle of its top edge
  };
  std::vector<Place> places;  // one per node
  // For each node and each of its inputs: the points of the edge, from the input to the node. The edge is straight
  // between them, or, of a curved layout, they are the control points of cubic curves: 3n + 1.
  std::vector<std::vector<std::vector<Place>>> edges;
  double width = 0, height = 0;
  bool curved = false;
};

// The layer of each node, from 0: below its inputs, and right above its first use.
std::vector<std::size_t> layers_of(const std::vector<LayerNode>& nodes);

// `row`: distance between layers; `height`: of a node; `gap`: between neighbours.
LayerLayout lay_out(const std::vector<LayerNode>& nodes, double height, double row, double gap);

}  // namespace rldb::ui
