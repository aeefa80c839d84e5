// Graphviz first, our own layers otherwise.
#include "rldb/ui/render/graph_layout.h"

#include <fmt/format.h>

#include <utility>

#include "ui/render/draw/graphviz.h"

namespace rldb::ui {

namespace {

// Layers that an edge may span. A longer one can be followed by nobody, and thousands of them (a mask that every block
// of a model reads) would take minutes to lay out.
constexpr std::size_t kLongestEdge = 40;
// Edges that leave a box. A value that more bindings read (a table that every head of an attention slices) would pull
// all of them into one row.
constexpr int kMostEdges = 8;

}  // namespace

void leave_out_edges(std::vector<LayerNode>& nodes) {
  const std::vector<std::size_t> layers = layers_of(nodes);
  std::vector<int> edges_from(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    std::erase_if(nodes[i].inputs, [&](int from) {
      return layers[i] - layers[std::size_t(from)] > kLongestEdge || ++edges_from[std::size_t(from)] > kMostEdges;
    });
}

GraphLayouts::GraphLayouts() : graphviz_(std::make_unique<Graphviz>()) {}
GraphLayouts::~GraphLayouts() = default;

GraphLayout GraphLayouts::of(const std::vector<LayerNode>& nodes, const GraphSizes& sizes, double seconds) {
  GraphLayout made;
  if (nodes.size() > kMostBoxes)
    return {lay_out(nodes, sizes.height, sizes.row, sizes.gap),
            fmt::format("Graphviz is not asked for more than {} boxes", kMostBoxes)};
  if (auto layout = graphviz_->layout(nodes, sizes.height, sizes.row, sizes.gap, seconds, made.without_graphviz))
    made.layout = *std::move(layout);
  made.needs_time = graphviz_->out_of_time();
  if (!made.without_graphviz.empty()) made.layout = lay_out(nodes, sizes.height, sizes.row, sizes.gap);
  return made;
}

}  // namespace rldb::ui
