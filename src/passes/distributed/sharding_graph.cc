#include "passes/distributed/sharding_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_refusal.h"

namespace rldb::passes {

using namespace ir;

bool TensorAxis::operator<(const TensorAxis& o) const {
  return std::tuple(tensor->id, field, dim) < std::tuple(o.tensor->id, o.field, o.dim);
}

bool same_mesh(const AxisSharding& a, const AxisSharding& b) {
  return a.mesh == b.mesh || print_attr(a.mesh) == print_attr(b.mesh);
}

bool same_sharding(const AxisSharding& a, const AxisSharding& b) { return a.along == b.along && same_mesh(a, b); }

void ShardingGraph::join(const TensorAxis& operand, const TensorAxis& result) {
  edges_[operand].push_back({result, Way::Down});
  edges_[result].push_back({operand, Way::Up});
}

void ShardingGraph::join_operands(const TensorAxis& a, const TensorAxis& b) {
  edges_[a].push_back({b, Way::Across});
  edges_[b].push_back({a, Way::Across});
}

void ShardingGraph::annotate(const TensorAxis& axis, const AxisSharding& sharding) {
  annotated_.push_back({axis, sharding});
}

void ShardingGraph::spread_from(const TensorAxis& axis, const AxisSharding& sharding) {
  // The ways of a path, as bits.
  const auto rank_of = [](unsigned ways) {
    switch (ways) {
      case 0:
        return 3;
      case 1u << unsigned(Way::Down):
        return 2;
      case 1u << unsigned(Way::Up):
        return 0;
      default:
        return 1;
    }
  };
  const auto has_another = [&](const TensorAxis& a) {
    return std::any_of(annotated_.begin(), annotated_.end(), [&](const auto& s) {
      return !(s.first < a) && !(a < s.first) && !same_sharding(s.second, sharding);
    });
  };
  const std::set<TensorAxis> cuts(cuts_.begin(), cuts_.end());
  std::set<TensorAxis> visited;
  std::vector<std::pair<TensorAxis, unsigned>> open{{axis, 0}};
  while (!open.empty()) {
    const auto [at, ways] = open.back();
    open.pop_back();
    if (cuts.count(at) || has_another(at) || !visited.insert(at).second) continue;
    reached_[at].push_back({sharding, rank_of(ways)});
    const std::vector<Edge>& edges = edges_[at];
    for (auto e = edges.rbegin(); e != edges.rend(); ++e) open.push_back({e->to, ways | 1u << unsigned(e->way)});
  }
}

Result<support::Unit> ShardingGraph::spread() {
  reached_.clear();
  for (const auto& [axis, sharding] : annotated_) spread_from(axis, sharding);
  for (auto& [axis, all] : reached_) {
    const auto best =
        std::max_element(all.begin(), all.end(), [](const Reached& a, const Reached& b) { return a.rank < b.rank; });
    const Reached chosen = *best;
    for (const Reached& r : all)
      if (r.rank == chosen.rank && !same_sharding(r.sharding, chosen.sharding))
        return support::Failure(
            source::message(diag::PassUnsupported, fmt::format("`{}`", axis.tensor->name),
                            axis.dim == kMeshDim ? std::string("annotations put it on two meshes")
                                                 : fmt::format("annotations shard its dim {} in two ways", axis.dim)));
    all = {chosen};
  }
  return support::Unit{};
}

const AxisSharding* ShardingGraph::find(const TensorAxis& axis) const {
  const auto found = reached_.find(axis);
  return found == reached_.end() ? nullptr : &found->second.front().sharding;
}

}  // namespace rldb::passes
