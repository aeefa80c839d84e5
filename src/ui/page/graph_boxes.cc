// Bindings become boxes, boxes a layout, the layout JSON.
#include "ui/page/graph_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/graph_fold.h"
#include "rldb/ui/render/graph_layout.h"
#include "rldb/ui/render/table.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

constexpr GraphSizes kPageSizes{34, 80, 16};
constexpr double kPageLetter = 7.2, kNoteLetter = 6.5, kLeastWidth = 48, kInset = 14;
constexpr std::size_t kMostLabel = 30, kMostNote = 34;  // letters
// A click has to be answered at once: a larger graph is laid out by Graphviz when the reader asks for it.
constexpr std::size_t kMostAtOnce = 1000;
constexpr double kSecondsAtOnce = 0.4;
// Graphviz draws so small a graph as our own layers do, and a report has hundreds of them.
constexpr std::size_t kSmallGraph = 12;
constexpr std::size_t kMostKnown = 200'000;  // boxes of layouts that are kept

struct PageBox {
  int node = -1;            // the binding; -1: a scope
  std::string scope;        // of a box that is one
  std::vector<int> hidden;  // bindings of the scope, or chains that are like this one
  std::vector<int> weights;
  std::vector<int> inputs;  // boxes
};

bool is_separator(char c) { return c == '.' || c == '/' || c == ':'; }

class Boxes {
 public:
  Boxes(const debug::BindingGraph& graph, const GraphView& view)
      : graph_(graph), view_(view), fold_(fold_graph(graph)), box_of_(graph.nodes.size(), GraphFold::kNoBox) {}

  std::vector<PageBox> make() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (const int stands_for = representative(i); stands_for == int(i)) add(i);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (const int stands_for = representative(i); stands_for >= 0 && stands_for != int(i)) hide(i, stands_for);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (representative(i) == int(i)) join(i);
    return std::move(boxes_);
  }

 private:
  int representative(std::size_t i) const { return view_.all ? int(i) : fold_.box_of[i]; }
  PageBox& box_of(std::size_t i) { return boxes_[std::size_t(box_of_[i])]; }

  void add(std::size_t i) {
    support::poll();
    std::string scope = view_.folded ? scope_of(graph_.nodes[i].name) : std::string();
    if (scope.empty() || view_.open.contains(scope)) {
      box_of_[i] = int(boxes_.size());
      boxes_.push_back({int(i), {}, {}, {}, {}});
      return;
    }
    const auto [it, is_new] = scopes_.try_emplace(scope, int(boxes_.size()));
    if (is_new) boxes_.push_back({-1, std::move(scope), {}, {}, {}});
    box_of_[i] = it->second;
    box_of(i).hidden.push_back(int(i));
  }
  void hide(std::size_t i, int stands_for) {
    box_of_[i] = box_of_[std::size_t(stands_for)];
    box_of(i).hidden.push_back(int(i));
  }
  void join(std::size_t i) {
    PageBox& box = box_of(i);
    for (const int from : graph_.nodes[i].inputs) {
      const int input = box_of_[std::size_t(from)];
      if (input == GraphFold::kNoBox)
        box.weights.push_back(from);
      else if (input != box_of_[i] && std::find(box.inputs.begin(), box.inputs.end(), input) == box.inputs.end())
        box.inputs.push_back(input);
    }
  }

  const debug::BindingGraph& graph_;
  const GraphView& view_;
  const GraphFold fold_;
  std::vector<PageBox> boxes_;
  std::vector<int> box_of_;
  std::map<std::string, int> scopes_;
};

std::string names_of(const debug::BindingGraph& graph, const std::vector<int>& nodes) {
  std::string names;
  for (const int i : nodes) {
    if (names.size() > kMostNote) break;
    names += (names.empty() ? "" : ", ") + graph.nodes[std::size_t(i)].name;
  }
  return names;
}

// The operator of a computation: the words before its first bracket.
std::string operator_in(std::string_view value) {
  const auto end = std::find_if(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.';
  });
  return std::string(value.begin(), end);
}

const std::string& name_of(const debug::BindingGraph& graph, const PageBox& box) {
  return box.node < 0 ? box.scope : graph.nodes[std::size_t(box.node)].name;
}

std::string note_of(const debug::BindingGraph& graph, const PageBox& box) {
  std::string note;
  if (box.node < 0) {
    note = fmt::format("{} bindings", box.hidden.size());
  } else {
    const debug::GraphNode& n = graph.nodes[std::size_t(box.node)];
    if (!box.hidden.empty()) note = fmt::format("{} alike: ", box.hidden.size() + 1);
    note += !n.value.empty() ? operator_in(n.value) : n.parameter ? "parameter" : n.type;
  }
  if (!box.weights.empty()) note += " ^ " + names_of(graph, box.weights);
  return cut(note, kMostNote);
}

// The inputs of a folded scope may come after it: no edge leads upwards.
std::vector<LayerNode> layer_nodes(const std::vector<PageBox>& boxes, const std::vector<double>& widths) {
  std::vector<LayerNode> nodes;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    LayerNode node{widths[b], {}};
    for (const int from : boxes[b].inputs)
      if (from < int(b)) node.inputs.push_back(from);
    nodes.push_back(std::move(node));
  }
  leave_out_edges(nodes);
  return nodes;
}

// Positions to a pixel: more is not seen, and a report has many.
int pixel(double x) { return int(std::lround(x)); }

PageJson edges_of(const LayerNode& node, const std::vector<std::vector<LayerLayout::Place>>& ways) {
  PageJson edges = PageJson::array();
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    PageJson edge{node.inputs[k]};
    for (const LayerLayout::Place& place : ways[k]) {
      edge.push_back(pixel(place.x));
      edge.push_back(pixel(place.y));
    }
    edges.push_back(std::move(edge));
  }
  return edges;
}

PageJson cut_inputs(const PageBox& box, const LayerNode& node) {
  PageJson cut = PageJson::array();
  for (const int from : box.inputs)
    if (std::find(node.inputs.begin(), node.inputs.end(), from) == node.inputs.end()) cut.push_back(from);
  return cut;
}

GraphLayout simple_layout(const std::vector<LayerNode>& nodes, std::string why) {
  return {lay_out(nodes, kPageSizes.height, kPageSizes.row, kPageSizes.gap), std::move(why)};
}

std::string scope_before_separators(std::string_view name) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < name.size();) {
    const auto end =
        std::size_t(std::find_if(name.begin() + std::ptrdiff_t(at), name.end(), is_separator) - name.begin());
    if (end > at) parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() < 2) return {};
  parts.pop_back();
  return fmt::format("{}", fmt::join(parts, "/"));
}

}  // namespace

GraphView graph_view(std::string_view words, std::string_view open) {
  GraphView view;
  const auto each = [](std::string_view text, char between, const auto& take) {
    while (!text.empty()) {
      const auto end = std::min(text.find(between), text.size());
      take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  };
  each(words, ',', [&](std::string_view word) {
    view.all |= word == "all";
    view.folded |= word == "folded";
    view.wait |= word == "wait";
  });
  each(open, '\n', [&](std::string_view scope) { view.open.emplace(scope); });
  return view;
}

std::string scope_of(std::string_view name) {
  if (std::string scope = scope_before_separators(name); !scope.empty()) return scope;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t i = 1; i < name.size(); ++i)
    if (name[i] == '_' && is_digit(name[i - 1])) return std::string(name.substr(0, i));
  return {};
}

const GraphLayout& KnownLayouts::of(const std::vector<LayerNode>& nodes, bool wait) {
  std::string key = wait ? "wait;" : "";
  for (const LayerNode& node : nodes) key += fmt::format("{} {};", node.width, fmt::join(node.inputs, ","));
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  GraphLayout layout = limit_ > 0 ? made_for_report(nodes) : made(nodes, wait);  // which may be cancelled
  // Next time there may be more time.
  if (layout.needs_time && limit_ <= 0) return last_ = std::move(layout);
  if (boxes_ > kMostKnown) {
    known_.clear();
    boxes_ = 0;
  }
  boxes_ += nodes.size();
  return known_[std::move(key)] = std::move(layout);
}

GraphLayout KnownLayouts::made(const std::vector<LayerNode>& nodes, bool wait) {
  if (!wait && nodes.size() > kMostAtOnce) {
    GraphLayout layout = simple_layout(nodes, fmt::format("more than {} boxes", kMostAtOnce));
    layout.needs_time = nodes.size() <= GraphLayouts::kMostBoxes;
    return layout;
  }
  return GraphLayouts().of(nodes, kPageSizes, wait ? GraphLayouts::kSeconds : kSecondsAtOnce);
}

GraphLayout KnownLayouts::made_for_report(const std::vector<LayerNode>& nodes) {
  if (nodes.size() <= kSmallGraph) return simple_layout(nodes, "");
  if (left_ <= 0) return simple_layout(nodes, fmt::format("a report gives Graphviz {} s in all", limit_));
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  GraphLayout layout = for_report_.of(nodes, kPageSizes, left_);
  left_ -= std::chrono::duration<double>(Clock::now() - start).count();
  return layout;
}

PageJson graph_layout_document(const debug::BindingGraph& graph, const GraphView& view, KnownLayouts& known) {
  const std::vector<PageBox> boxes = Boxes(graph, view).make();
  PageJson rows = PageJson::array();
  std::vector<double> widths;
  for (const PageBox& box : boxes) {
    support::poll();
    const std::string label = cut(name_of(graph, box), kMostLabel), note = note_of(graph, box);
    const double letters = std::max(double(width_of(label)) * kPageLetter, double(width_of(note)) * kNoteLetter);
    widths.push_back(std::round(std::max(kLeastWidth, kInset + letters)));
    PageJson row;
    box.node < 0 ? row["scope"] = box.scope : row["node"] = box.node;
    if (label != name_of(graph, box)) row["label"] = label;
    row["note"] = note;
    if (!box.hidden.empty()) row["hidden"] = box.hidden;
    if (!box.weights.empty()) row["weights"] = box.weights;
    rows.push_back(std::move(row));
  }
  const std::vector<LayerNode> nodes = layer_nodes(boxes, widths);
  const GraphLayout& made = known.of(nodes, view.wait);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    support::poll();
    rows[b]["place"] = {pixel(made.layout.places[b].x), pixel(made.layout.places[b].y), int(widths[b])};
    rows[b]["edges"] = edges_of(nodes[b], made.layout.edges[b]);
    if (PageJson cut = cut_inputs(boxes[b], nodes[b]); !cut.empty()) rows[b]["cut"] = std::move(cut);
  }
  return {{"boxes", std::move(rows)},
          {"width", pixel(made.layout.width)},
          {"height", pixel(made.layout.height)},
          {"curved", made.layout.curved},
          {"without_graphviz", made.without_graphviz},
          {"needs_time", made.needs_time && !view.wait}};
}

}  // namespace rldb::ui
