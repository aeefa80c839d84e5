// Matching patterns that constrain each other: candidates for a pattern are the neighbours of those already decided.
#include <algorithm>
#include <unordered_set>

#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"
#include "rldb/passes/pattern.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The operands of a call, with literal tuples among them replaced by their items.
std::vector<const Expr*> operands(const Expr* value) {
  std::vector<const Expr*> out;
  const auto* call = as<Call>(value);
  if (!call) return out;
  for (std::size_t i = op::is_call_with(call, op::Trait::CallTir) ? 1 : 0; i < call->args.size(); ++i) {
    const auto* tuple = as<Tuple>(call->args[i]);
    if (tuple)
      out.insert(out.end(), tuple->items.begin(), tuple->items.end());
    else
      out.push_back(call->args[i]);
  }
  return out;
}

}  // namespace

void PatternGraph::add(const Pattern& producer, const Pattern& reader, int index, bool only) {
  const std::size_t from = node_of(producer);
  uses_.push_back({from, node_of(reader), index, only});
}

std::size_t PatternGraph::node_of(const Pattern& p) {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].get() == p.get()) return i;
  nodes_.push_back(p);
  return nodes_.size() - 1;
}

class GraphMatcher {
 public:
  GraphMatcher(const PatternGraph& graph, const BindingBlock* block) : graph_(graph) {
    for (const Binding* b : block->bindings) {
      for (const Var* v : free_vars(b->value)) {
        std::vector<const Var*>& readers = readers_[v];
        if (readers.empty() && !bound_.count(v)) variables_.push_back(v);
        readers.push_back(b->var);
      }
      variables_.push_back(b->var);
      if (!b->is_match_cast()) bound_[b->var] = b->value;
      if (!b->var->is_dataflow()) readers_[b->var].push_back(nullptr);  // its readers are not known
    }
    chosen_.assign(graph.nodes_.size(), nullptr);
  }

  PatternGraph::Match run() {
    PatternGraph::Match found;
    if (!graph_.nodes_.empty() && choose(0))
      for (std::size_t i = 0; i < chosen_.size(); ++i) found[graph_.nodes_[i].get()] = chosen_[i];
    return found;
  }

  // The next match, among variables not handed out yet; variables that the block only reads may take part again.
  PatternGraph::Match next() {
    std::fill(chosen_.begin(), chosen_.end(), nullptr);
    PatternGraph::Match found = run();
    const std::size_t before = taken_.size();
    for (const auto& [pattern, v] : found)
      if (bound_.count(v)) taken_.insert(v);
    if (taken_.size() == before) ++first_;  // no variable of the block took part: it would match again for ever
    return found;
  }

 private:
  bool choose(std::size_t count) {
    support::poll();
    if (count == chosen_.size()) return true;
    const std::size_t node = next_node();
    // A variable that failed as the first before fails again: there is only less to choose from.
    if (count == 0) {
      for (; first_ < variables_.size(); ++first_)
        if (fits(node, variables_[first_], count)) return true;
      return false;
    }
    const std::vector<const Var*> near = candidates(node);
    return std::any_of(near.begin(), near.end(), [&](const Var* v) { return fits(node, v, count); });
  }

  bool fits(std::size_t node, const Var* v, std::size_t count) {
    if (taken_.count(v) || std::find(chosen_.begin(), chosen_.end(), v) != chosen_.end()) return false;
    PatternMatch ignored;
    if (!match(graph_.nodes_[node], v, bound_, ignored)) return false;
    chosen_[node] = v;
    if (holds(node) && choose(count + 1)) return true;
    chosen_[node] = nullptr;
    return false;
  }

  // One that is tied to a decided one, so that there are few candidates; else the first open one.
  std::size_t next_node() const {
    for (const PatternGraph::Use& u : graph_.uses_) {
      if (chosen_[u.producer] && !chosen_[u.reader]) return u.reader;
      if (chosen_[u.reader] && !chosen_[u.producer]) return u.producer;
    }
    return std::size_t(std::find(chosen_.begin(), chosen_.end(), nullptr) - chosen_.begin());
  }

  std::vector<const Var*> candidates(std::size_t node) const {
    for (const PatternGraph::Use& u : graph_.uses_) {
      if (u.reader == node && chosen_[u.producer]) {
        std::vector<const Var*> readers = readers_of(chosen_[u.producer]);
        std::erase(readers, nullptr);
        return readers;
      }
      if (u.producer != node || !chosen_[u.reader]) continue;
      std::vector<const Var*> out;
      for (const Expr* e : operands(value_of(chosen_[u.reader])))
        if (const auto* v = as<Var>(e); v && std::find(out.begin(), out.end(), v) == out.end()) out.push_back(v);
      return out;
    }
    return variables_;
  }

  bool holds(std::size_t node) const {
    return std::all_of(graph_.uses_.begin(), graph_.uses_.end(), [&](const PatternGraph::Use& u) {
      const Var* producer = chosen_[u.producer];
      const Var* reader = chosen_[u.reader];
      if ((u.producer != node && u.reader != node) || !producer || !reader) return true;
      const std::vector<const Expr*> args = operands(value_of(reader));
      const bool reads = u.index < 0 ? std::find(args.begin(), args.end(), producer) != args.end()
                                     : std::size_t(u.index) < args.size() && args[std::size_t(u.index)] == producer;
      return reads && (!u.only || readers_of(producer) == std::vector<const Var*>{reader});
    });
  }

  const Expr* value_of(const Var* v) const {
    const auto found = bound_.find(v);
    return found == bound_.end() ? nullptr : found->second;
  }
  std::vector<const Var*> readers_of(const Var* v) const {
    const auto found = readers_.find(v);
    return found == readers_.end() ? std::vector<const Var*>() : found->second;
  }

  const PatternGraph& graph_;
  BoundValues bound_;
  std::vector<const Var*> variables_;
  std::unordered_map<const Var*, std::vector<const Var*>> readers_;
  std::vector<const Var*> chosen_;
  std::unordered_set<const Var*> taken_;
  std::size_t first_ = 0;
};

PatternGraph::Match PatternGraph::match(const BindingBlock* block) const { return GraphMatcher(*this, block).run(); }

std::vector<PatternGraph::Match> PatternGraph::all_matches(const BindingBlock* block) const {
  GraphMatcher matcher(*this, block);
  std::vector<Match> found;
  for (Match m = matcher.next(); !m.empty(); m = matcher.next()) found.push_back(std::move(m));
  return found;
}

}  // namespace rldb::passes
