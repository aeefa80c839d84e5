// Where the boxes of a picture of a graph stand, and which edges it has: one layout for `:graph` and for the page.
//
// Graphviz makes it, in a child process with limits of time and memory; where it is not installed, fails, or has not
// been asked, our own layers do (layers.h).
#pragma once

#include <cstddef>
#include <memory>
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

struct GraphLayout {
  LayerLayout layout;
  std::string without_graphviz;  // why it is not Graphviz's where that would look better; empty: there is no reason
  bool needs_time = false;       // with more time it could be
};

// Removes the inputs that no edge is drawn for, as nobody could follow it: over more than 40 layers, and each after the
// first 8 from one node.
void leave_out_edges(std::vector<LayerNode>& nodes);

class Graphviz;

// Lays graphs out, one after the other. With the first a process of Graphviz's begins, which lives as long as this.
class GraphLayouts {
 public:
  GraphLayouts();
  ~GraphLayouts();
  GraphLayouts(const GraphLayouts&) = delete;
  GraphLayouts& operator=(const GraphLayouts&) = delete;

  // The longest that anybody waits for one picture, and boxes that take longer.
  static constexpr double kSeconds = 10;
  static constexpr std::size_t kMostBoxes = 5000;
  // Graphviz is given so long.
  GraphLayout of(const std::vector<LayerNode>& nodes, const GraphSizes& sizes, double seconds = kSeconds);

 private:
  std::unique_ptr<Graphviz> graphviz_;
};

}  // namespace rldb::ui
