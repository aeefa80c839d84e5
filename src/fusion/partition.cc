// The partition of a dataflow graph into groups, by patterns and post-dominators.
#include "rldb/fusion/partition.h"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <utility>

#include "rldb/support/cancel.h"

namespace rldb::fusion {

namespace {

constexpr std::size_t kNone = std::size_t(-1);

// ---- post-dominators ----

// A node of the tree of post-dominators. `jump` leads to a farther ancestor, so that common ancestors are found in
// logarithmic time; the patterns are the hardest edge on the way to where the link leads.
struct Dominated {
  std::size_t parent = kNone;
  std::size_t depth = 1;
  OpPattern pattern = kOpaque;
  std::size_t jump = kNone;
  OpPattern jump_pattern = kOpaque;
};

class PostDominators {
 public:
  explicit PostDominators(const std::vector<FusionNode>& nodes) : tree_(nodes.size()) {
    for (std::size_t i = nodes.size(); i-- > 0;) {
      support::poll();
      if (!nodes[i].is_result) place(i, nodes[i].readers);
    }
  }
  const Dominated& operator[](std::size_t i) const { return tree_[i]; }

 private:
  void place(std::size_t i, const std::vector<FusionEdge>& readers) {
    OpPattern pattern = kElemWise;
    std::size_t parent = readers.empty() ? kNone : readers[0].to;
    for (const FusionEdge& e : readers) {
      parent = meet(parent, e.to, pattern);
      pattern = std::max(pattern, e.pattern);
    }
    Dominated& d = tree_[i];
    d.pattern = pattern;
    d.parent = parent;
    if (parent == kNone) return;
    const Dominated& p = tree_[parent];
    d.depth = p.depth + 1;
    // Jumps of equal length merge into one of twice the length.
    const bool merge = p.jump != kNone && p.depth - tree_[p.jump].depth == jump_length(p.jump);
    d.jump = merge ? tree_[p.jump].jump : parent;
    d.jump_pattern = merge ? std::max({pattern, p.jump_pattern, tree_[p.jump].jump_pattern}) : pattern;
  }

  std::size_t jump_length(std::size_t i) const {
    return tree_[i].jump == kNone ? 0 : tree_[i].depth - tree_[tree_[i].jump].depth;
  }

  void climb(std::size_t& at, OpPattern& pattern) const {
    pattern = std::max(pattern, tree_[at].pattern);
    at = tree_[at].parent;
  }
  void jump(std::size_t& at, OpPattern& pattern) const {
    pattern = std::max(pattern, tree_[at].jump_pattern);
    at = tree_[at].jump;
  }

  // The nearest common ancestor; kNone when there is none.
  std::size_t meet(std::size_t a, std::size_t b, OpPattern& pattern) const {
    if (a == kNone || b == kNone) return kNone;
    if (tree_[a].depth < tree_[b].depth) std::swap(a, b);
    while (tree_[a].depth > tree_[b].depth) {
      const std::size_t far = tree_[a].jump;
      if (far != kNone && tree_[far].depth >= tree_[b].depth)
        jump(a, pattern);
      else
        climb(a, pattern);
    }
    while (a != b) {
      // Equal depths have jumps of equal length.
      const bool apart = tree_[a].jump != kNone && tree_[b].jump != kNone && tree_[a].jump != tree_[b].jump;
      if (apart) {
        jump(a, pattern);
        jump(b, pattern);
      } else {
        if (tree_[a].parent == kNone || tree_[b].parent == kNone) return kNone;
        climb(a, pattern);
        climb(b, pattern);
      }
    }
    return a;
  }

  std::vector<Dominated> tree_;
};

// ---- groups ----

class Partitioner {
 public:
  Partitioner(const std::vector<FusionNode>& nodes, std::size_t max_depth)
      : nodes_(nodes), max_depth_(max_depth), dominators_(nodes), groups_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      groups_[i].parent = i;
      groups_[i].pattern = nodes[i].pattern;
      groups_[i].anchored = nodes[i].pattern == kOutEWiseFusable;
    }
  }

  std::vector<std::size_t> run() {
    for (int phase = 0; phase < kPhases; ++phase)
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        support::poll();
        consider(i, phase);
      }
    std::vector<std::size_t> found(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) found[i] = root(i);
    return found;
  }

 private:
  struct Group {
    std::size_t parent;  // itself at the root
    OpPattern pattern;
    std::size_t size = 1;
    bool anchored = false;  // contains an operator that others follow: one per group
  };
  static constexpr int kIntoTuples = 2, kPhases = 3;
  // Whether a group of this pattern may be on the way, or at its end.
  using Allowed = std::function<bool(OpPattern, bool at_end)>;

  std::size_t root(std::size_t i) {
    std::size_t r = i;
    while (groups_[r].parent != r) r = groups_[r].parent;
    while (groups_[i].parent != r) i = std::exchange(groups_[i].parent, r);
    return r;
  }

  void consider(std::size_t i, int phase) {
    const OpPattern pattern = groups_[i].pattern;
    const Dominated& dominated = dominators_[i];
    const std::size_t end = dominated.parent;
    if (pattern == kOpaque || end == kNone || root(i) == root(end)) return;
    const auto injective = [](OpPattern p, bool) { return p <= kInjective; };
    if (phase == kIntoTuples) {
      // A tuple that its reader has absorbed, so that it is not visible outside.
      const bool taken_in = groups_[end].pattern == kTuple && root(end) != end;
      if (pattern <= kInjective && taken_in && groups_[root(end)].pattern <= kInjective) fuse(i, end, injective);
      return;
    }
    if (groups_[end].pattern == kTuple) return;
    if (pattern == kOutEWiseFusable) {
      if (phase == 0 && dominated.pattern == kElemWise) fuse(i, end, [](OpPattern p, bool) { return p <= kBroadcast; });
    } else if (pattern <= kBroadcast) {
      if (dominated.pattern <= kInjective || dominated.pattern == kReduce)
        fuse(i, end, [](OpPattern p, bool at_end) {
          return p <= kInjective || (at_end && (p == kReduce || p == kOutEWiseFusable));
        });
    } else if ((pattern == kInjective || pattern == kTuple) && phase == 1) {
      fuse(i, end, injective);
    }
  }

  // All nodes from `begin` on before `end`; false when one may not be fused or the group would be too large.
  bool between(std::size_t begin, std::size_t end, const Allowed& allowed, std::vector<std::size_t>& found) {
    std::unordered_set<std::size_t> seen{begin};
    std::size_t size = groups_[root(end)].size + groups_[begin].size;
    found.assign(1, begin);
    if (!allowed(groups_[root(end)].pattern, true)) return false;
    for (std::size_t at = 0; at < found.size(); ++at) {
      for (const FusionEdge& e : nodes_[found[at]].readers) {
        if (e.to == end || !seen.insert(e.to).second) continue;
        if (!allowed(groups_[root(e.to)].pattern, false)) return false;
        size += groups_[e.to].size;
        if (size > max_depth_) return false;
        found.push_back(e.to);
      }
    }
    return size <= max_depth_;
  }

  void fuse(std::size_t begin, std::size_t end, const Allowed& allowed) {
    if (!between(begin, end, allowed, found_)) return;
    for (const std::size_t i : found_) merge(i, end);
  }

  void merge(std::size_t from, std::size_t into) {
    Group& a = groups_[from = root(from)];
    Group& b = groups_[into = root(into)];
    if (from == into) return;
    b.size += a.size;
    a.parent = into;
    if (!a.anchored) return;
    b.anchored = true;
    b.pattern = std::max(a.pattern, b.pattern);
  }

  const std::vector<FusionNode>& nodes_;
  std::size_t max_depth_;
  PostDominators dominators_;
  std::vector<Group> groups_;
  std::vector<std::size_t> found_;
};

}  // namespace

std::vector<std::size_t> partition(const std::vector<FusionNode>& nodes, std::size_t max_depth) {
  return Partitioner(nodes, max_depth).run();
}

}  // namespace rldb::fusion
