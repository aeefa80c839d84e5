// The graph of a block as text and as DOT, with the current binding marked.
#include "rldb/ui/render/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/table.h"
#include "ui/render/draw/node_text.h"

namespace rldb::ui {

using debug::BindingGraph;
using debug::GraphNode;

std::string node_text(const GraphNode& n) {
  if (n.parameter) return n.type.empty() ? n.name : fmt::format("{}: {}", n.name, n.type);
  return fmt::format("{} = {}", n.name, n.value);
}

namespace {

// Writes the tree. A chain, where each binding is computed from one other, goes straight down.
class Tree {
 public:
  Tree(const BindingGraph& graph, bool ascii) : graph_(graph), ascii_(ascii), shown_(graph.nodes.size()) {}

  std::string text() {
    for (std::size_t i = graph_.nodes.size(); i-- > 0;)
      if (graph_.nodes[i].result) branch(int(i), "", "");
    // Bindings that no result needs.
    for (std::size_t i = graph_.nodes.size(); i-- > 0;)
      if (!shown_[i] && !graph_.nodes[i].parameter && graph_.nodes[i].users.empty()) branch(int(i), "", "");
    return std::move(out_);
  }

 private:
  struct Pending {
    int node;
    std::string lead, rest;  // prefix of its line, and of the lines below it
  };

  // Bindings that a node is computed from; parameters are in its text.
  std::vector<int> sources(int node) const {
    std::vector<int> found;
    for (const int i : graph_.nodes[std::size_t(node)].inputs)
      if (!graph_.nodes[std::size_t(i)].parameter) found.push_back(i);
    return found;
  }
  void branch(int root, const std::string& lead, const std::string& rest) {
    std::vector<Pending> stack{{root, lead, rest}};
    while (!stack.empty()) {
      support::poll();
      const Pending p = std::move(stack.back());
      stack.pop_back();
      const GraphNode& n = graph_.nodes[std::size_t(p.node)];
      const std::string mark = n.current ? "=> " : "   ";
      if (shown_[std::size_t(p.node)]) {
        out_ += fmt::format("{}{}{} ^\n", mark, p.lead, n.name);
        continue;
      }
      shown_[std::size_t(p.node)] = true;
      out_ += fmt::format("{}{}{}\n", mark, p.lead, cut(node_text(n), 110));
      const std::vector<int> from = sources(p.node);
      if (from.size() == 1) {
        stack.push_back({from[0], p.rest, p.rest});
        continue;
      }
      // Depth is limited by the width of a line: deeper branches are only named.
      constexpr std::size_t kMostIndent = 60;
      if (width_of(p.rest) > kMostIndent) {
        for (const int i : from) out_ += fmt::format("   {}{} ...\n", p.rest, graph_.nodes[std::size_t(i)].name);
        continue;
      }
      for (std::size_t k = from.size(); k-- > 0;) {
        const bool last = k + 1 == from.size();
        const std::string fork = ascii_ ? (last ? "`- " : "|- ") : last ? "└─ " : "├─ ";
        const std::string line = last ? "   " : ascii_ ? "|  " : "│  ";
        stack.push_back({from[k], p.rest + fork, p.rest + line});
      }
    }
  }

  const BindingGraph& graph_;
  bool ascii_;
  std::vector<bool> shown_;
  std::string out_;
};

std::string dot_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string graph_text(const BindingGraph& graph, bool ascii) { return Tree(graph, ascii).text(); }

std::string graph_dot(const BindingGraph& graph) {
  std::string out = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=monospace, fontsize=10];\n",
                                dot_text(graph.function));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    support::poll();
    const GraphNode& n = graph.nodes[i];
    const std::string_view style = n.current     ? ", style=filled, fillcolor=\"#ffe08a\""
                                   : n.parameter ? ", style=rounded"
                                   : n.result    ? ", penwidth=2"
                                                 : "";
    out += fmt::format("  n{} [label=\"{}\\n{}\"{}];\n", i, dot_text(n.parameter ? n.name : node_text(n)),
                       dot_text(n.type), style);
    for (const int from : n.inputs) out += fmt::format("  n{} -> n{};\n", from, i);
  }
  return out + "}\n";
}

}  // namespace rldb::ui
