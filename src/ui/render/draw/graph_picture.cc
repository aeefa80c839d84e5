// The graph of a block as SVG: what is drawn is decided here, where is the layout's answer.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/graph.h"
#include "rldb/ui/render/graph_fold.h"
#include "rldb/ui/render/graph_layout.h"
#include "rldb/ui/render/table.h"
#include "ui/render/draw/node_text.h"
#include "ui/render/draw/svg.h"

namespace rldb::ui {

using debug::BindingGraph;
using debug::GraphNode;

namespace {

constexpr double kLetter = 7.3, kBoxHeight = 38, kLayerStep = 78, kBetween = 18, kMargin = 20, kTitle = 40;
constexpr std::size_t kMostLetters = 48;
constexpr std::string_view kEdge = "#555";

struct DrawnNode {
  const GraphNode* binding = nullptr;
  std::string first, second;
  bool stands_for_others = false;
};

struct Drawing {
  std::vector<DrawnNode> nodes;
  std::vector<LayerNode> layout;
};

// The boxes, with the inputs that have boxes too.
struct Boxes {
  std::vector<int> binding;  // of each box
  std::vector<LayerNode> nodes;
};

Boxes boxes_of(const BindingGraph& graph, const GraphFold& fold) {
  Boxes boxes;
  std::vector<int> box(graph.nodes.size(), GraphFold::kNoBox);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    support::poll();
    if (fold.box_of[i] != int(i)) continue;
    LayerNode node;
    for (const int from : graph.nodes[i].inputs) {
      const int as = fold.box_of[std::size_t(from)];
      if (as == GraphFold::kNoBox) continue;
      const int at = box[std::size_t(as)];
      if (std::find(node.inputs.begin(), node.inputs.end(), at) == node.inputs.end()) node.inputs.push_back(at);
    }
    box[i] = int(boxes.nodes.size());
    boxes.binding.push_back(int(i));
    boxes.nodes.push_back(std::move(node));
  }
  return boxes;
}

// ` ^ x, y`: the inputs that no edge leads from.
std::string without_edges(const BindingGraph& graph, const GraphFold& fold, const Boxes& boxes, std::size_t box) {
  std::string names;
  const auto has_edge = [&](int binding) {
    const std::vector<int>& inputs = boxes.nodes[box].inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](int from) { return boxes.binding[std::size_t(from)] == binding; });
  };
  for (const int from : graph.nodes[std::size_t(boxes.binding[box])].inputs)
    if (!has_edge(fold.box_of[std::size_t(from)]))
      names += (names.empty() ? "  ^ " : ", ") + graph.nodes[std::size_t(from)].name;
  return cut(names, kMostLetters);
}

// `8 alike: lv5, lv7, ...`
std::string others_text(const BindingGraph& graph, const std::vector<int>& alike) {
  std::string names;
  for (const int i : alike) names += (names.empty() ? "" : ", ") + graph.nodes[std::size_t(i)].name;
  return cut(fmt::format("{} alike: {}", alike.size() + 1, names), kMostLetters / 2) + "  ";
}

Drawing drawing_of(const BindingGraph& graph) {
  Drawing drawing;
  const GraphFold fold = fold_graph(graph);
  Boxes boxes = boxes_of(graph, fold);
  leave_out_edges(boxes.nodes);
  for (std::size_t b = 0; b < boxes.nodes.size(); ++b) {
    support::poll();
    const auto i = std::size_t(boxes.binding[b]);
    const GraphNode& n = graph.nodes[i];
    DrawnNode node{&n, cut(n.parameter ? n.name : node_text(n), kMostLetters), {}, !fold.alike[i].empty()};
    if (node.stands_for_others) node.second = others_text(graph, fold.alike[i]);
    node.second += cut(n.type, kMostLetters) + without_edges(graph, fold, boxes, b);
    const std::size_t letters = std::max(width_of(node.first), width_of(node.second));
    boxes.nodes[b].width = double(letters) * kLetter + 16;
    drawing.nodes.push_back(std::move(node));
  }
  drawing.layout = std::move(boxes.nodes);
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
  if (node.stands_for_others)
    for (const double behind : {6.0, 3.0})
      svg.box(x - width / 2 + behind, y - behind, width, kBoxHeight, kEdge, "#fff");
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
  GraphLayout made = GraphLayouts().of(drawing.layout, {kBoxHeight, kLayerStep, kBetween});
  const LayerLayout& layout = made.layout;
  picture.without_graphviz = std::move(made.without_graphviz);
  std::string title = fmt::format("bindings of {}", graph.function);
  if (!picture.without_graphviz.empty()) title += fmt::format(" (simple layout: {})", picture.without_graphviz);
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
