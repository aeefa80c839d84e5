// Boxes of the page's graph: scopes by name, what a view hides, edges, and that boxes do not overlap.
#include "ui/page/graph_boxes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

struct GraphOfNames {
  debug::BindingGraph graph{"main", {}};
  int add(std::string name, std::string value, const std::vector<int>& inputs) {
    debug::GraphNode n;
    n.name = std::move(name);
    n.value = std::move(value);
    n.type = "R.Tensor((4,), \"float32\")";
    n.parameter = n.value.empty();
    n.inputs = inputs;
    const int number = int(graph.nodes.size());
    for (const int from : inputs) graph.nodes[std::size_t(from)].users.push_back(number);
    graph.nodes.push_back(std::move(n));
    return number;
  }
};

// Layers of three bindings, each with a weight of its own.
GraphOfNames layers(int count) {
  GraphOfNames g;
  int last = g.add("x", "", {});
  for (int l = 0; l < count; ++l) {
    const int w = g.add(fmt::format("w{}", l), "", {});
    last = g.add(fmt::format("layer{}_matmul", l), fmt::format("R.matmul(x, w{})", l), {last, w});
    last = g.add(fmt::format("layer{}_relu", l), "R.nn.relu(y)", {last});
    last = g.add(fmt::format("layer{}_out", l), "R.add(a, b)", {last});
  }
  g.graph.nodes.back().result = true;
  return g;
}

PageJson layout_of(const debug::BindingGraph& graph, const GraphView& view) {
  KnownLayouts known;
  return graph_layout_document(graph, view, known);
}

const PageJson* box_named(const debug::BindingGraph& graph, const PageJson& layout, std::string_view name) {
  for (const PageJson& box : layout["boxes"])
    if (box.contains("scope") ? box["scope"] == name : graph.nodes[std::size_t(box["node"])].name == name) return &box;
  return nullptr;
}

void check_places(const PageJson& layout) {
  std::map<int, std::vector<std::pair<int, int>>> rows;  // by y: from, to
  for (const PageJson& box : layout["boxes"]) {
    const std::vector<int> place = box["place"];
    REQUIRE(place.size() == 3);
    CHECK(place[0] - place[2] / 2 >= -1);
    CHECK(place[0] + place[2] / 2 <= int(layout["width"]) + 1);
    rows[place[1]].emplace_back(place[0] - place[2] / 2, place[0] + place[2] / 2);
    for (const PageJson& edge : box["edges"]) {
      const PageJson& from = layout["boxes"][std::size_t(edge[0])];
      CHECK(int(from["place"][1]) < place[1]);
      CHECK(int(edge[2]) == int(from["place"][1]) + 34);  // from the lower edge of one to the upper of the other
      CHECK(int(edge.back()) == place[1]);
    }
  }
  for (auto& [y, spans] : rows) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t k = 1; k < spans.size(); ++k) CHECK(spans[k].first >= spans[k - 1].second);
  }
}

}  // namespace

TEST_CASE("the scope of a name") {
  CHECK(scope_of("layers.0/attn/q") == "layers/0/attn");
  CHECK(scope_of("layers_0_attn_q") == "layers_0");
  CHECK(scope_of("a::b") == "a");
  for (const char* none : {"lv3", "gv", "_1", "x_", "", ".", "/x/"}) CHECK(scope_of(none).empty());
}

TEST_CASE("a view as its words") {
  const GraphView view = graph_view("folded", "layers_0\nlayers_1");
  CHECK(view.folded);
  CHECK(!view.all);
  CHECK(view.open == std::set<std::string>{"layers_0", "layers_1"});
  CHECK(graph_view("all,folded", "").all);
  CHECK(graph_view("all,folded", "").folded);
  CHECK(!graph_view("none", "").all);
}

TEST_CASE("a small graph has all boxes, with the operator in each") {
  const debug::BindingGraph graph = layers(2).graph;
  const PageJson layout = layout_of(graph, {});
  CHECK(layout["boxes"].size() == 9);
  REQUIRE(box_named(graph, layout, "layer1_relu"));
  CHECK((*box_named(graph, layout, "layer1_relu"))["note"] == "R.nn.relu");
  CHECK((*box_named(graph, layout, "w0"))["note"] == "parameter");
  check_places(layout);
}

TEST_CASE("in a large graph weights are named where they are read, or have boxes where all have") {
  const GraphOfNames g = layers(20);
  const PageJson layout = layout_of(g.graph, {});
  CHECK(layout["boxes"].size() == 60);  // x, which one reads, has none
  CHECK(!box_named(g.graph, layout, "w7"));
  const PageJson& reader = *box_named(g.graph, layout, "layer7_matmul");
  CHECK(reader["note"] == "R.matmul ^ w7");
  REQUIRE(reader["weights"].size() == 1);
  CHECK(g.graph.nodes[std::size_t(reader["weights"][0])].name == "w7");
  check_places(layout);
  const PageJson all = layout_of(g.graph, graph_view("all", ""));
  CHECK(all["boxes"].size() == g.graph.nodes.size());
  check_places(all);
}

TEST_CASE("a long name is cut, and the box says so") {
  GraphOfNames g;
  g.add(std::string(100, 'x'), "", {});
  g.add("y", "R.exp(x)", {0});
  const PageJson layout = layout_of(g.graph, {});
  CHECK(std::string(layout["boxes"][0]["label"]).size() < 40);
  CHECK(!layout["boxes"][1].contains("label"));
}

TEST_CASE("folded scopes, and one of them open") {
  const GraphOfNames g = layers(20);
  const PageJson folded = layout_of(g.graph, graph_view("folded", ""));
  CHECK(folded["boxes"].size() == 20);
  const PageJson& scope = *box_named(g.graph, folded, "layer7");
  CHECK(scope["scope"] == "layer7");
  CHECK(scope["note"] == "3 bindings ^ w7");
  CHECK(scope["hidden"].size() == 3);
  REQUIRE(scope["edges"].size() == 1);
  CHECK(folded["boxes"][std::size_t(scope["edges"][0][0])]["scope"] == "layer6");
  check_places(folded);
  const PageJson open = layout_of(g.graph, graph_view("folded", "layer7"));
  CHECK(open["boxes"].size() == 19 + 3);
  CHECK(box_named(g.graph, open, "layer7_relu"));
  check_places(open);
}

TEST_CASE("scopes that read one another have edges downwards only, the others are named") {
  GraphOfNames g;
  const int x = g.add("x", "", {}), a = g.add("a0_p", "R.exp(x)", {x}), b = g.add("b0_p", "R.exp(a)", {a});
  g.add("a0_q", "R.exp(b)", {b});
  const PageJson layout = layout_of(g.graph, graph_view("folded", ""));
  REQUIRE(layout["boxes"].size() == 3);
  const PageJson &first = *box_named(g.graph, layout, "a0"), &second = *box_named(g.graph, layout, "b0");
  CHECK(first["edges"].size() == 1);
  CHECK(first["cut"].size() == 1);
  CHECK(second["edges"].size() == 1);
  check_places(layout);
}

TEST_CASE("a report gives Graphviz a time in all, and no small graphs") {
  const debug::BindingGraph graph = layers(4).graph, other = layers(5).graph, small = layers(2).graph;
  const auto why = [](const PageJson& layout) { return std::string(layout["without_graphviz"]); };
  KnownLayouts known;
  known.limit_graphviz(600);
  const PageJson first = graph_layout_document(graph, {}, known);
  if (why(first) == "Graphviz is not installed") return;
  CHECK(why(first).empty());
  CHECK(bool(first["curved"]));
  CHECK(bool(graph_layout_document(other, {}, known)["curved"]));  // by the same process
  CHECK(!bool(graph_layout_document(small, {}, known)["curved"]));
  KnownLayouts late;
  late.limit_graphviz(1e-9);
  CHECK(why(graph_layout_document(graph, {}, late)) == "Graphviz needs more than 1e-09 s");
  CHECK(why(graph_layout_document(other, {}, late)) == "a report gives Graphviz 1e-09 s in all");
}

TEST_CASE("ten thousand bindings are laid out by our own layers, and the reply says so") {
  GraphOfNames g;
  g.add("x", "", {});
  for (int i = 1; i < 10000; ++i) {
    std::vector<int> inputs{i - 1};
    if (i > 10) inputs.insert(inputs.end(), {i - 9, i - 10});
    g.add(fmt::format("lv{}", i), "R.add(a, b)", inputs);
  }
  const PageJson layout = layout_of(g.graph, {});
  CHECK(layout["boxes"].size() == 9999);
  CHECK(std::string(layout["without_graphviz"]) == "more than 1000 boxes");
  check_places(layout);
}

}  // namespace rldb::ui
