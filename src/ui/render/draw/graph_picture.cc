// The graph of a block as SVG: what is drawn is decided here, where is the layout's answer.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/graph.h"
#include "rldb/ui/render/layers.h"
#include "rldb/ui/render/table.h"
#include "ui/render/draw/graphviz.h"
#include "ui/render/draw/node_text.h"
#include "ui/render/draw/svg.h"

namespace rldb::ui {

using debug::BindingGraph;
using debug::GraphNode;

namespace {

constexpr double kLetter = 7.3, kBoxHeight = 38, kLayerStep = 78, kBetween = 18, kMargin = 20, kTitle = 40;
constexpr std::size_t kMostLetters = 48;
constexpr std::string_view kEdge = "#555";
// Layers that an edge may span. A longer one can be followed by nobody, and thousands of them (a mask that every block
// of a model reads) would take minutes to lay out.
constexpr std::size_t kLongestEdge = 40;
// Edges that leave a box. A value that more bindings read (a table that every head of an attention slices) would pull
// all of them into one row.
constexpr int kMostEdges = 8;

struct DrawnNode {
  const GraphNode* binding = nullptr;
  std::string first, second;
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<LayerNode> layout;
};

// For each node, the inputs that an edge leads from.
std::vector<std::vector<int>> drawn_edges(const BindingGraph& graph) {
  std::vector<LayerNode> nodes;
  for (const GraphNode& n : graph.nodes) nodes.push_back({0, n.inputs});
  const std::vector<std::size_t> layers = layers_of(nodes);
  std::vector<int> edges_from(graph.nodes.size(), 0);
  std::vector<std::vector<int>> drawn(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    support::poll();
    for (const int from : graph.nodes[i].inputs)
      if (layers[i] - layers[std::size_t(from)] <= kLongestEdge && ++edges_from[std::size_t(from)] <= kMostEdges)
        drawn[i].push_back(from);
  }
  return drawn;
}

// ` ^ x, y`: the inputs that no edge leads from.
std::string without_edges(const BindingGraph& graph, const GraphNode& n, const std::vector<int>& drawn) {
  std::string names;
  for (const int from : n.inputs)
    if (std::find(drawn.begin(), drawn.end(), from) == drawn.end())
      names += (names.empty() ? "  ^ " : ", ") + graph.nodes[std::size_t(from)].name;
  return cut(names, kMostLetters);
}

Drawing drawing_of(const BindingGraph& graph) {
  Drawing drawing;
  auto edges = drawn_edges(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& n = graph.nodes[i];
    DrawnNode node{&n, cut(n.parameter ? n.name : node_text(n), kMostLetters), cut(n.type, kMostLetters)};
    node.second += without_edges(graph, n, edges[i]);
    const std::size_t letters = std::max(width_of(node.first), width_of(node.second));
    drawing.layout.push_back({double(letters) * kLetter + 16, std::move(edges[i])});
    drawing.nodes.push_back(std::move(node));
  }
  return drawing;
}

void draw_edge(Svg& svg, const std::vector<LayerLayout::Place>& way, bool curved, double dx, double dy) {
  std::string data;
  for (std::size_t k = 0; k < way.size(); ++k) {
    const char* word = k == 0 ? "M" : !curved ? " L" : k % 3 == 1 ? " C" : " ";
    data += fmt::format("{}{:.1f} {:.1f}", word, way[k].x + dx, way[k].y + dy);
  }
  svg.arrow_path(data, kEdge);
}

void draw_node(Svg& svg, const DrawnNode& node, double width, double x, double y) {
  const GraphNode& n = *node.binding;
  svg.box(x - width / 2, y, width, kBoxHeight, n.result ? "#d62728" : kEdge,
          n.current     ? "#ffe08a"
          : n.parameter ? "#eef3f8"
                        : "#fff");
  svg.text(x, y + 16, node.first, Svg::Anchor::Middle);
  svg.text(x, y + 31, node.second, Svg::Anchor::Middle, "#777");
}

}  // namespace

GraphPicture graph_picture(const BindingGraph& graph) {
  GraphPicture picture;
  const Drawing drawing = drawing_of(graph);
  const auto good = graphviz_layout(drawing.layout, kBoxHeight, kLayerStep, kBetween, picture.without_graphviz);
  const LayerLayout layout = good ? *good : lay_out(drawing.layout, kBoxHeight, kLayerStep, kBetween);
  std::string title = fmt::format("bindings of {}", graph.function);
  if (!good) title += fmt::format(" (simple layout: {})", picture.without_graphviz);
  const double width = std::max(layout.width, double(width_of(title)) * kLetter);
  Svg svg(width + 2 * kMargin, layout.height + kTitle + 2 * kMargin);
  svg.text(kMargin, 24, title);
  const double dx = kMargin, dy = kTitle + kMargin / 2;
  for (const auto& edges : layout.edges) {
    support::poll();
    for (const auto& way : edges) draw_edge(svg, way, layout.curved, dx, dy);
  }
  for (std::size_t i = 0; i < drawing.nodes.size(); ++i)
    draw_node(svg, drawing.nodes[i], drawing.layout[i].width, layout.places[i].x + dx, layout.places[i].y + dy);
  picture.svg = std::move(svg).finish();
  return picture;
}

std::string graph_svg(const BindingGraph& graph) { return graph_picture(graph).svg; }

}  // namespace rldb::ui
