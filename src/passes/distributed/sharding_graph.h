// The axes of a function's tensors, and along which of them a sharding spreads: from the annotated tensors to whoever
// computes them, reads them, or is computed with them. Of two shardings that reach an axis the nearer kind wins: its
// own annotation, then one that comes down from operands only, then one by mixed ways, then one that comes up from
// readers only. As TVM's axis groups.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/placement.h"

namespace rldb::passes {

struct TensorAxis {
  const ir::Var* tensor = nullptr;
  std::size_t field = 0;  // of a tuple
  std::int64_t dim = 0;

  bool operator<(const TensorAxis& o) const;
};

// The dimension of a mesh that an axis is divided along, or kReplica as the dim of a tensor's mesh.
struct AxisSharding {
  const ir::Attr* mesh = nullptr;
  std::int64_t along = 0;
};
bool same_mesh(const AxisSharding& a, const AxisSharding& b);
bool same_sharding(const AxisSharding& a, const AxisSharding& b);

inline constexpr std::int64_t kMeshDim = -1;  // the dim of a TensorAxis that stands for the tensor's mesh

class ShardingGraph {
 public:
  void join(const TensorAxis& operand, const TensorAxis& result);
  void join_operands(const TensorAxis& a, const TensorAxis& b);  // neither is computed from the other
  void annotate(const TensorAxis& axis, const AxisSharding& sharding);
  void cut(const TensorAxis& axis) { cuts_.push_back(axis); }  // no sharding reaches it, or passes it

  // Two shardings of equal rank for one axis are a failure that names it.
  ir::Result<support::Unit> spread();
  const AxisSharding* find(const TensorAxis& axis) const;

 private:
  enum class Way { Up, Across, Down };
  struct Edge {
    TensorAxis to;
    Way way;
  };
  struct Reached {
    AxisSharding sharding;
    int rank;
  };
  void spread_from(const TensorAxis& axis, const AxisSharding& sharding);

  std::map<TensorAxis, std::vector<Edge>> edges_;
  std::vector<std::pair<TensorAxis, AxisSharding>> annotated_;
  std::vector<TensorAxis> cuts_;
  std::map<TensorAxis, std::vector<Reached>> reached_;
};

}  // namespace rldb::passes
