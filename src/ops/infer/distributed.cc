// Types of operators on distributed tensors: the local type, and how the result is sharded. The rule for an
// operator is that of its class, or its own (rule.def).
#include "ops/infer/distributed.h"

#include <algorithm>

#include "ops/infer/shard_rules.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_rule.h"
#include "rldb/ir/printer.h"

namespace rldb::ops {
namespace {

std::vector<int> kept_axes(int ndim) {
  std::vector<int> out;
  for (int i = 0; i < ndim; ++i) out.push_back(i);
  return out;
}

// Aligned at the last axis; a broadcast axis of one element has no part in the sharding.
std::vector<int> broadcast_axes(const TensorType* in, int out_ndim) {
  std::vector<int> out;
  for (int i = 0; i < in->ndim; ++i)
    out.push_back(in->has_shape && is_one(in->shape[std::size_t(i)]) ? kReplica : out_ndim - in->ndim + i);
  return out;
}

std::vector<int> matmul_axes(const TensorType* in, bool first, int out_ndim, bool other_is_vector) {
  std::vector<int> out(std::size_t(in->ndim), kReplica);
  if (in->ndim < 2) return out;
  const int tail = other_is_vector ? 1 : 2;  // axes of the result that are not batch
  for (int i = 0; i < in->ndim - 2; ++i) out[std::size_t(i)] = out_ndim - tail - (in->ndim - 2) + i;
  const int own = first ? in->ndim - 2 : in->ndim - 1;
  out[std::size_t(own)] = first ? out_ndim - tail : out_ndim - 1;
  return out;
}

std::vector<int> reduced_axes(const ir::CallSpec& call, int ndim) {
  const auto axes = attr_ints(call, op_attr::Axis);
  const bool keepdims = attr_bool(call, op_attr::Keepdims);
  std::vector<bool> gone(std::size_t(ndim), !axes.has_value());
  if (axes)
    for (std::int64_t a : *axes) gone[std::size_t(a < 0 ? a + ndim : a)] = true;
  std::vector<int> out;
  int next = 0;
  for (int i = 0; i < ndim; ++i) {
    out.push_back(gone[std::size_t(i)] ? kReplica : next);
    if (!gone[std::size_t(i)] || keepdims) ++next;
  }
  return out;
}

std::vector<int> permuted_axes(const ir::CallSpec& call, int ndim) {
  const auto axes = attr_ints(call, op_attr::Axes);
  std::vector<int> out(std::size_t(ndim), kReplica);
  for (int i = 0; i < ndim; ++i) {
    const std::int64_t from = axes ? (*axes)[std::size_t(i)] : ndim - 1 - i;
    out[std::size_t(from < 0 ? from + ndim : from)] = i;
  }
  return out;
}

// An axis is mapped to the first axis of the group that it is split into or joined with.
std::vector<int> reshaped_axes(ir::Context& ctx, const TensorType* in, const TensorType* out) {
  std::vector<int> map(std::size_t(in->ndim), kReplica);
  if (!in->has_shape || !out->has_shape) return map;
  const Expr* before = ctx.i64(1);
  for (int i = 0; i < in->ndim; ++i) {
    const Expr* seen = ctx.i64(1);
    for (int o = 0; o < out->ndim; ++o) {
      if (same_dim(ctx, before, seen) && !is_one(out->shape[std::size_t(o)])) {
        map[std::size_t(i)] = o;
        break;
      }
      seen = simplify(ctx, ir::mul(ctx, seen, out->shape[std::size_t(o)]));
    }
    before = simplify(ctx, ir::mul(ctx, before, in->shape[std::size_t(i)]));
  }
  return map;
}

}  // namespace

// ---- the rules that rows name ----

namespace shard {

std::optional<AxisMap> kept(const Sharded& s) {
  AxisMap map;
  for (const TensorType* t : s.in) map.push_back(kept_axes(t->ndim));
  return map;
}

std::optional<AxisMap> broadcast(const Sharded& s) {
  AxisMap map;
  for (const TensorType* t : s.in) map.push_back(broadcast_axes(t, s.out->ndim));
  return map;
}

std::optional<AxisMap> matmul(const Sharded& s) {
  if (s.in.size() != 2) return std::nullopt;  // one is a constant
  AxisMap map;
  for (std::size_t i = 0; i < 2; ++i) map.push_back(matmul_axes(s.in[i], i == 0, s.out->ndim, s.in[1 - i]->ndim == 1));
  return map;
}

std::optional<AxisMap> outer(const Sharded& s) {
  if (s.in.size() != 2) return std::nullopt;  // one is a constant
  AxisMap map;
  for (int i = 0; i < 2; ++i) map.emplace_back(std::size_t(s.in[std::size_t(i)]->ndim), i);
  return map;
}

// Parameters have one axis, the channels, or one element for all.
std::optional<AxisMap> along_channels(const Sharded& s) {
  const int ndim = s.out->ndim;
  const auto* data = ir::as<ir::DTensorType>(s.call.args[0]->type);
  const std::int64_t axis = attr_int(s.call, op_attr::Axis);
  AxisMap map;
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    const TensorType* t = s.in[i];
    const bool is_data = data && t == data->tensor;
    const bool one = t->ndim == 1 && t->has_shape && is_one(t->shape[0]);
    map.push_back(is_data
                      ? kept_axes(ndim)
                      : std::vector<int>(std::size_t(t->ndim), one ? kReplica : int(axis < 0 ? axis + ndim : axis)));
  }
  return map;
}

std::optional<AxisMap> reduced(const Sharded& s) { return AxisMap{reduced_axes(s.call, s.in[0]->ndim)}; }

std::optional<AxisMap> permuted(const Sharded& s) { return AxisMap{permuted_axes(s.call, s.in[0]->ndim)}; }

std::optional<AxisMap> reshaped(const Sharded& s) { return AxisMap{reshaped_axes(s.ctx, s.in[0], s.out)}; }

}  // namespace shard

namespace {

std::optional<AxisMap> axis_map(const OpInfo& info, const Sharded& s) {
  using Rule = std::optional<AxisMap> (*)(const Sharded&);
  static constexpr op::RuleTable<Rule> kRules{op::Column::Shard,
                                              {
#define RLDB_OP_SHARD(Op, function) {op::Id::Op, shard::function},
#include "rldb/ir/op/rule.def"
                                              },
                                              {
#define RLDB_OP_CLASS(id, infer, shard_fn, layout, gradient, legalise, mixed, in_place, pattern, doc) \
  {op::Class::id, op::is_rule(#shard_fn) ? shard::shard_fn : nullptr},
#include "rldb/ir/op/class.def"
                                              }};
  const Rule rule = kRules.find(info.name);
  return rule ? rule(s) : std::nullopt;
}

struct Inputs {
  std::vector<const TensorType*> tensors;
  std::vector<std::vector<int>> placements;
  const ir::Attr* mesh = nullptr;
};

Result<Inputs> distributed_inputs(const OpInfo& info, const ir::CallSpec& call) {
  Inputs out;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const Type* t = call.args[i]->type;
    if (ir::as<TensorType>(t)) {
      // A constant has no placement of its own.
      if (ir::isa<ir::Constant>(call.args[i])) continue;
      return type_error(info, "a distributed operator must take DTensor instead of Tensor as input", int(i));
    }
    const auto* d = ir::as<ir::DTensorType>(t);
    if (!d) continue;
    if (out.mesh && out.mesh != d->device_mesh && ir::print_attr(out.mesh) != ir::print_attr(d->device_mesh))
      return type_error(info,
                        "the inputs are on different device meshes: " + ir::print_attr(out.mesh) + " and " +
                            ir::print_attr(d->device_mesh),
                        int(i));
    auto placement = ir::placement_axes(d->placement);
    if (!placement)
      return type_error(info, "the placement \"" + std::string(d->placement) + "\" cannot be read", int(i));
    for (int axis : *placement)
      if (axis != kReplica && d->tensor->ndim != ir::kUnknownNdim && axis >= d->tensor->ndim)
        return type_error(info,
                          "the placement \"" + std::string(d->placement) + "\" names axis " + std::to_string(axis) +
                              " of a tensor of " + std::to_string(d->tensor->ndim) + " dimensions",
                          int(i));
    out.mesh = d->device_mesh;
    out.tensors.push_back(d->tensor);
    out.placements.push_back(std::move(*placement));
  }
  return out;
}

}  // namespace

bool is_distributed(const ir::CallSpec& call) {
  const auto distributed = [](const Type* t) { return ir::as<ir::DTensorType>(t) != nullptr; };
  return std::any_of(call.args.begin(), call.args.end(), [&](const Expr* e) {
    if (const auto* tuple = ir::as<ir::TupleType>(e->type))
      return std::any_of(tuple->fields.begin(), tuple->fields.end(), distributed);
    return distributed(e->type);
  });
}

// A tensor of the local part among the results.
static bool holds_tensor(const Type* t) {
  if (const auto* tuple = ir::as<ir::TupleType>(t))
    return std::any_of(tuple->fields.begin(), tuple->fields.end(), holds_tensor);
  return ir::as<TensorType>(t) != nullptr;
}

Result<const Type*> infer_distributed(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Inputs in, distributed_inputs(info, call));
  RLDB_TRY(const Type* local, info.infer(ctx, info, call));
  // Operators that define the distributed type themselves, and those without a value.
  const auto* out = ir::as<TensorType>(local);
  if (!out && !holds_tensor(local)) return local;
  const bool ranked =
      out && !in.tensors.empty() && out->ndim != ir::kUnknownNdim &&
      std::all_of(in.tensors.begin(), in.tensors.end(), [](auto* t) { return t->ndim != ir::kUnknownNdim; });
  const auto map = ranked ? axis_map(info, {ctx, call, in.tensors, out}) : std::nullopt;
  if (!map) {
    std::string why = "is not known for distributed tensors: it has no rule that says how its result is sharded";
    if (const auto reason = op::reason(op::Column::Shard, info.name); !reason.empty())
      why += " (" + std::string(reason) + ")";
    return type_error(info, why);
  }
  std::size_t mesh_axes = 0;
  for (const auto& p : in.placements) mesh_axes = std::max(mesh_axes, p.size());
  std::vector<int> placement(mesh_axes, kReplica);
  for (std::size_t i = 0; i < in.placements.size(); ++i)
    for (std::size_t m = 0; m < in.placements[i].size(); ++m) {
      const int axis = in.placements[i][m];
      const int to = axis == kReplica ? kReplica : (*map)[i][std::size_t(axis)];
      if (to != kReplica) placement[m] = to;
    }
  return static_cast<const Type*>(ctx.dtensor(out, in.mesh, ir::placement_text(placement)));
}

}  // namespace rldb::ops
