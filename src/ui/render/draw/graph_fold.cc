// Parameters without boxes, and chains that are alike.
#include "rldb/ui/render/graph_fold.h"

#include <cctype>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "rldb/support/cancel.h"

namespace rldb::ui {

using debug::BindingGraph;
using debug::GraphNode;

namespace {

constexpr std::size_t kSmall = 40;      // nodes: fewer are all drawn
constexpr std::size_t kLeastAlike = 3;  // chains

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// The computation without the names and numbers in it: `R.add(_, R.const(#, "float32"))`.
std::string form_of(const BindingGraph& graph, const GraphNode& n) {
  std::string out;
  for (std::size_t i = 0; i < n.value.size();) {
    std::size_t end = i;
    while (end < n.value.size() && is_word(n.value[end])) ++end;
    if (end == i) {
      out += n.value[i++];
      continue;
    }
    const std::string word = n.value.substr(i, end - i);
    bool is_input = false;
    for (const int from : n.inputs) is_input = is_input || graph.nodes[std::size_t(from)].name == word;
    if (is_input)
      out += '_';
    else
      for (const char c : word)
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
          out += c;
        else if (!out.ends_with('#'))
          out += '#';
    i = end;
  }
  return out + " : " + n.type;
}

// A chain between a value that several read and one that reads several, from its end to its beginning.
using Chain = std::vector<int>;

bool can_be_in_chain(const GraphNode& n) {
  return !n.parameter && !n.result && !n.current && n.users.size() == 1 && n.inputs.size() == 1;
}

Chain chain_ending_at(const BindingGraph& graph, int end) {
  Chain chain;
  for (int at = end; can_be_in_chain(graph.nodes[std::size_t(at)]);) {
    chain.push_back(at);
    at = graph.nodes[std::size_t(at)].inputs[0];
  }
  return chain;
}

void fold_chains(const BindingGraph& graph, GraphFold& fold) {
  using Key = std::tuple<int, int, std::string>;  // where they begin and end, and what they compute
  std::map<Key, std::vector<Chain>> chains;
  for (std::size_t join = 0; join < graph.nodes.size(); ++join) {
    support::poll();
    if (graph.nodes[join].inputs.size() < kLeastAlike) continue;
    for (const int input : graph.nodes[join].inputs) {
      Chain chain = chain_ending_at(graph, input);
      if (chain.empty()) continue;
      std::string form;
      for (const int i : chain) form += form_of(graph, graph.nodes[std::size_t(i)]) + "\n";
      chains[{graph.nodes[std::size_t(chain.back())].inputs[0], int(join), form}].push_back(std::move(chain));
    }
  }
  for (const auto& [key, alike] : chains) {
    if (alike.size() < kLeastAlike) continue;
    for (std::size_t c = 1; c < alike.size(); ++c)
      for (std::size_t k = 0; k < alike[c].size(); ++k) {
        fold.box_of[std::size_t(alike[c][k])] = alike[0][k];
        fold.alike[std::size_t(alike[0][k])].push_back(alike[c][k]);
      }
  }
}

}  // namespace

GraphFold fold_graph(const BindingGraph& graph) {
  GraphFold fold;
  fold.box_of.resize(graph.nodes.size());
  fold.alike.resize(graph.nodes.size());
  std::iota(fold.box_of.begin(), fold.box_of.end(), 0);
  if (graph.nodes.size() < kSmall) return fold;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].parameter && !graph.nodes[i].result && graph.nodes[i].users.size() == 1)
      fold.box_of[i] = GraphFold::kNoBox;
  fold_chains(graph, fold);
  return fold;
}

}  // namespace rldb::ui
