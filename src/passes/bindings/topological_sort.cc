// TopologicalSort(order, direction): reorders the bindings of dataflow blocks in the order in which a search over the
// function's values visits them, from its inputs or from its outputs. Ties keep the existing order.
//
// As in TVM, except that symbolic variables count: their uses stay after the match_cast that defines them.
#include <algorithm>
#include <deque>

#include "passes/common.h"
#include "passes/fusion/block_reads.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pass_options.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using source::message;
using support::Failure;

namespace {

constexpr std::string_view kDepthFirst = "depth-first";
constexpr std::string_view kBreadthFirst = "breadth-first";
constexpr std::string_view kFromInputs = "from-inputs";
constexpr std::string_view kFromOutputs = "from-outputs";

// Who reads what, over a whole function. Node 0 represents values from outside, node 1 those that leave the function.
class ValueGraph {
 public:
  explicit ValueGraph(const Function* f) {
    add_node();
    add_node();
    for (const Var* p : f->params) {
      define(p);
      add_edge(kIn, node_of_.at(p));
    }
    known_ = symbols_of_parameters(f);
    add_seq(f->body, kOut);
    close();
  }
  static constexpr std::size_t kIn = 0;
  static constexpr std::size_t kOut = 1;
  using Edges = std::vector<std::vector<std::size_t>>;
  Edges readers;  // in text order
  Edges reads;
  std::size_t node_of(const Var* v) const { return node_of_.at(v); }
  bool has(const Binding* b) const { return node_of_.count(b->var) > 0; }  // false inside a local function

 private:
  std::size_t add_node() {
    readers.emplace_back();
    reads.emplace_back();
    return readers.size() - 1;
  }
  std::size_t define(const Var* v) { return node_of_[v] = add_node(); }
  void add_edge(std::size_t from, std::size_t to) {
    readers[from].push_back(to);
    reads[to].push_back(from);
  }
  void add_reads(std::size_t reader, const std::vector<const Var*>& vars) {
    for (const Var* v : vars)
      if (const auto found = node_of_.find(v); found != node_of_.end() && found->second != reader)
        add_edge(found->second, reader);
  }

  // `reader` uses the value of the sequence.
  void add_seq(const SeqExpr* s, std::size_t reader) {
    support::poll();
    for (const BindingBlock* block : s->blocks)
      for (const Binding* b : block->bindings) add_binding(b);
    add_reads(reader, variables_read(s->body));
  }

  void add_binding(const Binding* b) {
    const std::size_t node = define(b->var);
    if (const auto* branch = as<If>(b->value)) {
      add_reads(node, variables_read(branch->cond));
      add_seq(branch->then_branch, node);
      add_seq(branch->else_branch, node);
    } else {
      add_reads(node, variables_read(b->value));
    }
    std::vector<const Var*> dims;
    if (b->cast_type) collect_vars(b->cast_type, dims);
    for (const Var* v : dims)
      if (known_.insert(v).second) node_of_[v] = node;
    add_reads(node, dims);
  }

  // Nodes that read nothing get an edge from outside; unread ones are the first to leave the function.
  void close() {
    std::vector<std::size_t> unread;
    for (std::size_t i = 2; i < reads.size(); ++i) {
      if (reads[i].empty()) add_edge(kIn, i);
      if (!readers[i].empty()) continue;
      unread.push_back(i);
      readers[i].push_back(kOut);
    }
    reads[kOut].insert(reads[kOut].begin(), unread.begin(), unread.end());
  }

  std::unordered_map<const Var*, std::size_t> node_of_;
  std::unordered_set<const Var*> known_;
};

// The position of each node in the order of visits.
std::vector<std::size_t> search(ValueGraph& graph, bool depth_first, bool from_inputs) {
  if (depth_first)
    for (auto& list : graph.readers) std::reverse(list.begin(), list.end());
  const ValueGraph::Edges& forward = from_inputs ? graph.readers : graph.reads;
  const ValueGraph::Edges& backward = from_inputs ? graph.reads : graph.readers;
  std::vector<std::size_t> waits_for(forward.size());
  for (std::size_t i = 0; i < forward.size(); ++i) waits_for[i] = backward[i].size();
  std::vector<std::size_t> place(forward.size(), 0);
  std::vector<bool> met(forward.size(), false);
  std::deque<std::size_t> next{from_inputs ? ValueGraph::kIn : ValueGraph::kOut};
  for (std::size_t count = 0; !next.empty();) {
    support::poll();
    const std::size_t at = depth_first ? next.back() : next.front();
    if (depth_first)
      next.pop_back();
    else
      next.pop_front();
    if (met[at]) continue;
    met[at] = true;
    place[at] = count++;
    for (const std::size_t to : forward[at]) --waits_for[to];
    for (const std::size_t to : forward[at])
      if (waits_for[to] == 0 && !met[to]) next.push_back(to);
  }
  return place;
}

class Sorter : public Rewriter {
 public:
  Sorter(Context& ctx, const ValueGraph& graph, std::vector<std::size_t> place, bool from_inputs)
      : Rewriter(ctx), graph_(graph), place_(std::move(place)), from_inputs_(from_inputs) {}

 protected:
  const BindingBlock* visit_block(const BindingBlock* b) override {
    const BindingBlock* made = default_block(b);
    const auto known = [&](const Binding* x) { return graph_.has(x); };
    if (!b->is_dataflow() || !std::all_of(b->bindings.begin(), b->bindings.end(), known)) return made;
    std::vector<std::pair<std::size_t, const Binding*>> placed;  // each position is looked up once
    placed.reserve(made->bindings.size());
    for (const Binding* x : made->bindings) placed.emplace_back(place_of(x), x);
    std::stable_sort(placed.begin(), placed.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<const Binding*> sorted;
    sorted.reserve(placed.size());
    for (const auto& [place, x] : placed) sorted.push_back(x);
    if (std::equal(sorted.begin(), sorted.end(), made->bindings.begin())) return made;
    const BindingBlock* block = ctx_.block(sorted, true);
    ctx_.set_origin(block, b);
    return block;
  }

 private:
  std::size_t place_of(const Binding* b) const {
    const std::size_t place = place_[graph_.node_of(b->var)];
    return from_inputs_ ? place : place_.size() - place;
  }

  const ValueGraph& graph_;
  std::vector<std::size_t> place_;
  bool from_inputs_;
};

// One of two words.
Result<bool> is_first(std::string_view name, std::string_view given, std::string_view first, std::string_view second) {
  if (given == first) return true;
  if (given == second) return false;
  return Failure(
      message(diag::PassOptionValue, name, "`" + std::string(first) + "` or `" + std::string(second) + "`", given));
}

}  // namespace

Result<const Module*> topological_sort(PassEnv& env, const Module* module, const TopologicalSortOptions& options) {
  RLDB_TRY(const bool depth_first, is_first("order", options.order, kDepthFirst, kBreadthFirst));
  RLDB_TRY(const bool from_inputs, is_first("direction", options.direction, kFromInputs, kFromOutputs));
  return map_functions(env, module, [&](std::string_view, const Function* f) -> Result<const Function*> {
    ValueGraph graph(f);
    std::vector<std::size_t> place = search(graph, depth_first, from_inputs);
    return Sorter(env.ctx, graph, std::move(place), from_inputs).rewrite_function(f);
  });
}

}  // namespace rldb::passes
