// Where the boxes of a picture of a graph stand, and which edges it has: one layout for `:graph` and for the page.
//
// Graphviz makes it, in a child process with limits of time and memory; where it is not installed, fails, or has not
// been asked, our own layers do (layers.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rldb/ui/render/layers.h"

namespace rldb::ui {

// In the units of the widths of the nodes.
struct GraphSizes {
  double height = 0;  // of a box
  double row = 0;     // from one layer to the next
  double gap = 0;     // between neighbours
};

// Boxes for which Graphviz needs about 0.3 s, and its 10 s: more take longer than anybody waits.
constexpr std::size_t kMostAtOnce = 1000, kMostBoxes = 5000;

struct GraphLayout {
  LayerLayout layout;
  std::string without_graphviz;  // why it is not Graphviz's; empty: it is
};

// Removes the inputs that no edge is drawn for, as nobody could follow it: over more than 40 layers, and each after the
// first 8 from one node.
void leave_out_edges(std::vector<LayerNode>& nodes);

// Graphviz is not asked for more than `most_boxes`.
GraphLayout lay_out_graph(const std::vector<LayerNode>& nodes, const GraphSizes& sizes, std::size_t most_boxes);

}  // namespace rldb::ui
