// Pictures of graphs: what is drawn, by Graphviz's layout and by our own; no edge crosses a box; texts stay texts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "rldb/ui/render/graph.h"
#include "rldb/ui/render/layers.h"
#include "ui/render/draw/graphviz.h"

namespace rldb::ui {

namespace {

using Place = LayerLayout::Place;

constexpr double kTestHeight = 38, kTestRow = 78, kTestGap = 18;

// Blocks of three layers with weights, and a value that skips each.
std::vector<LayerNode> residual_blocks(int blocks) {
  std::vector<LayerNode> nodes{{60, {}}};
  for (int b = 0; b < blocks; ++b) {
    const int skipped = int(nodes.size()) - 1;
    for (int k = 0; k < 3; ++k) {
      const int last = int(nodes.size()) - 1;
      nodes.push_back({120.0 + 30 * k, {}});
      nodes.push_back({250.0 - 40 * k, {last, last + 1}});
    }
    nodes.push_back({200, {int(nodes.size()) - 1, skipped}});
  }
  return nodes;
}

// Points of an edge, close to one another.
std::vector<Place> samples_of(const std::vector<Place>& way, bool curved) {
  std::vector<Place> out;
  const std::size_t step = curved ? 3 : 1;
  for (std::size_t k = 0; k + step < way.size(); k += step)
    for (int i = 0; i <= 16; ++i) {
      const double t = i / 16.0, u = 1 - t;
      if (curved)
        out.push_back({u * u * u * way[k].x + 3 * u * u * t * way[k + 1].x + 3 * u * t * t * way[k + 2].x +
                           t * t * t * way[k + 3].x,
                       u * u * u * way[k].y + 3 * u * u * t * way[k + 1].y + 3 * u * t * t * way[k + 2].y +
                           t * t * t * way[k + 3].y});
      else
        out.push_back({u * way[k].x + t * way[k + 1].x, u * way[k].y + t * way[k + 1].y});
    }
  return out;
}

void check_layout(const LayerLayout& layout, const std::vector<LayerNode>& nodes) {
  REQUIRE(layout.places.size() == nodes.size());
  const auto is_inside = [&](const Place& p, std::size_t node) {
    const Place& top = layout.places[node];
    constexpr double kEdge = 2;  // of a box, on which edges end
    return std::abs(p.x - top.x) < nodes[node].width / 2 - kEdge && p.y > top.y + kEdge &&
           p.y < top.y + kTestHeight - kEdge;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    CHECK(layout.places[i].x - nodes[i].width / 2 >= -1);
    CHECK(layout.places[i].x + nodes[i].width / 2 <= layout.width + 1);
    CHECK(layout.places[i].y + kTestHeight <= layout.height + 1);
    REQUIRE(layout.edges[i].size() == nodes[i].inputs.size());
    for (std::size_t k = 0; k < nodes[i].inputs.size(); ++k) {
      CHECK(layout.places[std::size_t(nodes[i].inputs[k])].y < layout.places[i].y);
      std::size_t inside = 0;
      for (const Place& p : samples_of(layout.edges[i][k], layout.curved))
        for (std::size_t box = 0; box < nodes.size(); ++box) inside += is_inside(p, box);
      CHECK(inside == 0);
    }
  }
}

debug::BindingGraph chain_of(std::size_t bindings) {
  debug::BindingGraph graph{"main", {}};
  for (std::size_t i = 0; i < bindings; ++i) {
    debug::GraphNode n;
    n.name = i == 0 ? "x" : fmt::format("lv{}", i);
    n.value = i == 0 ? "" : "R.add(x, y)";
    n.type = "R.Tensor((n, 4), \"float32\")";
    n.parameter = i == 0;
    if (i > 0) n.inputs = {int(i) - 1};
    if (i + 1 < bindings) n.users = {int(i) + 1};
    graph.nodes.push_back(std::move(n));
  }
  return graph;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("our own layout: nodes below their inputs, edges beside the boxes") {
  for (const int blocks : {1, 2, 5, 12})
    check_layout(lay_out(residual_blocks(blocks), kTestHeight, kTestRow, kTestGap), residual_blocks(blocks));
}

TEST_CASE("our own layout: thousands of layers do not drift to one side") {
  const LayerLayout layout = lay_out(residual_blocks(1000), kTestHeight, kTestRow, kTestGap);
  CHECK(layout.width < 5000);
}

TEST_CASE("the layout by Graphviz: nodes below their inputs, edges beside the boxes") {
  Graphviz graphviz;
  for (const int blocks : {1, 2, 5, 12, 80}) {
    const auto nodes = residual_blocks(blocks);
    std::string why;
    const auto layout = graphviz.layout(nodes, kTestHeight, kTestRow, kTestGap, 60, why);
    if (!layout && why == "Graphviz is not installed") {
      MESSAGE("skipped: Graphviz is not installed");
      return;
    }
    INFO(why);
    REQUIRE(layout);
    CHECK(layout->curved);
    check_layout(*layout, nodes);
  }
}

TEST_CASE("after a graph for which there was no time the next one is laid out") {
  Graphviz graphviz;
  std::string why;
  CHECK(!graphviz.layout(residual_blocks(80), kTestHeight, kTestRow, kTestGap, 0, why));
  CHECK(why == "Graphviz needs more than 0 s");
  why.clear();
  if (!graphviz.layout(residual_blocks(2), kTestHeight, kTestRow, kTestGap, 60, why))
    CHECK(why == "Graphviz is not installed");
}

TEST_CASE("an empty graph, and one node") {
  CHECK(graph_svg({"main", {}}).ends_with("</svg>\n"));
  const std::string one = graph_svg(chain_of(1));
  CHECK(count_of(one, ">x<") == 1);
}

TEST_CASE("an input from far above is named, without an edge") {
  debug::BindingGraph graph = chain_of(60);
  graph.nodes[0].users.push_back(59);
  graph.nodes[59].inputs.push_back(0);
  const std::string svg = graph_svg(graph);
  CHECK(count_of(svg, ">x<") == 1);
  CHECK(count_of(svg, "  ^ x<") == 1);
  CHECK(count_of(svg, "marker-end") == 59);
}

TEST_CASE("a value that many read has eight edges, and is named by the other uses") {
  debug::BindingGraph graph = chain_of(20);
  for (int i = 2; i < 20; ++i) {
    graph.nodes[0].users.push_back(i);
    graph.nodes[std::size_t(i)].inputs.push_back(0);
  }
  const std::string svg = graph_svg(graph);
  CHECK(count_of(svg, "  ^ x<") == 11);  // 19 uses
  CHECK(count_of(svg, "marker-end") == 18 + 8);
}

TEST_CASE("weights that are prepared for the end of a long chain stand beside it, not at the top") {
  std::vector<LayerNode> nodes{{60, {}}};
  for (int k = 0; k < 100; ++k) nodes.push_back({60, {k}});
  nodes.push_back({60, {}});
  nodes.push_back({60, {101}});
  nodes.push_back({60, {100, 102}});
  const std::vector<std::size_t> layers = layers_of(nodes);
  CHECK(layers[102] == 100);
  CHECK(layers[101] == 99);
  CHECK(layers[0] == 0);
}

TEST_CASE("a large graph: a weight is named where it is used, of chains that are alike one is drawn") {
  debug::BindingGraph graph = chain_of(50);
  const auto add = [&](std::string name, std::string value, std::vector<int> inputs) {
    debug::GraphNode n;
    n.name = std::move(name);
    n.value = std::move(value);
    n.type = "R.Tensor((8,), \"uint32\")";
    n.parameter = n.value.empty();
    for (const int from : inputs) graph.nodes[std::size_t(from)].users.push_back(int(graph.nodes.size()));
    n.inputs = std::move(inputs);
    graph.nodes.push_back(std::move(n));
    return int(graph.nodes.size()) - 1;
  };
  const int weight = add("w", "", {}), fork = add("f", "R.exp(w)", {weight});
  std::vector<int> lanes;
  for (int k = 0; k < 4; ++k) {
    const int shifted =
        add(fmt::format("s{}", k), fmt::format("R.right_shift(f, R.const({}, \"uint32\"))", 4 * k), {fork});
    lanes.push_back(
        add(fmt::format("m{}", k), fmt::format("R.bitwise_and(s{}, R.const(15, \"uint32\"))", k), {shifted}));
  }
  lanes.push_back(add("other", "R.negative(f)", {fork}));
  add("joined", "R.concat((m0, m1, m2, m3, other), axis=0)", lanes);
  const std::string svg = graph_svg(graph);
  CHECK(count_of(svg, ">w<") == 0);
  CHECK(count_of(svg, "  ^ w<") == 1);
  CHECK(count_of(svg, "s0 = R.right_shift") == 1);
  CHECK(count_of(svg, "s1 = R.right_shift") == 0);
  CHECK(count_of(svg, "4 alike: m1, m2, m3") == 1);
  CHECK(count_of(svg, "other = R.negative(f)") == 1);
  CHECK(count_of(svg, "marker-end") ==
        49 - 1 + 5);  // x has no box, nor has w; f to s0 to m0 to joined, f to other to joined
}

TEST_CASE("names and values are texts, whatever they contain") {
  debug::BindingGraph graph = chain_of(3);
  graph.function = "<script>f</script>";
  graph.nodes[1].name = "<b>&\"\\N\\G%s";
  graph.nodes[1].value = "<<table><tr><td>x</td></tr></table>>";
  graph.nodes[2].type = "]; 0 -> 0 [URL=\"javascript:1\"]; //";
  const std::string svg = graph_svg(graph);
  CHECK(count_of(svg, "<script") == 0);
  CHECK(count_of(svg, "<b>") == 0);
  CHECK(count_of(svg, "<table") == 0);
  CHECK(count_of(svg, "URL=\"") == 0);
  CHECK(count_of(svg, "&lt;b&gt;&amp;&quot;\\N\\G%s") == 1);
  CHECK(count_of(svg, "marker-end") == 2);
}

}  // namespace rldb::ui
