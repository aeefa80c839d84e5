// sort, argsort and topk for GPUs: the innermost axis is sorted with what it belongs to, and topk cuts the result.
#include "ops/legal/gpu_sort.h"
#include "rldb/ir/op/order.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/op_attr/order_attr.h"

namespace rldb::ops::legal {

namespace {

// Outputs of TVM's externs are aligned; their input may begin anywhere.
constexpr te::ExternMemory kSortMemory{.alignment = 8, .any_offset = true, .inputs_aligned = false};

struct Sorted {
  Tensor values, indices;  // indices: null without an index dtype
};

struct SortOrder {
  int axis;
  bool ascending;
  DType index = DType::Void();  // void: elements only
};

std::vector<int> axis_innermost(int ndim, int axis) {
  std::vector<int> order = topi::all_axes(ndim);
  std::swap(order[std::size_t(axis)], order.back());
  return order;
}

// `block` names TVM's stage.
Sorted sorted(Te& te, Tensor x, const SortOrder& how, const GpuDevice& device, std::string_view block) {
  Topi t(te);
  const std::vector<int> order = axis_innermost(x->ndim(), how.axis);
  const bool inner = how.axis == x->ndim() - 1;
  if (!inner) x = t.transpose(x, order);
  const bool indexed = !how.index.is_void();
  std::vector<te::Graph::OutputSpec> outputs{{x->shape, x->dtype}, {x->shape, x->dtype}};
  if (indexed) outputs = {{x->shape, x->dtype}, {x->shape, how.index}, {x->shape, x->dtype}, {x->shape, how.index}};
  const auto write = [&te, device, indexed, ascending = how.ascending](Buffers in, Buffers out) {
    const GpuSort plain{in[0], out[0], out[1], nullptr, nullptr, ascending};
    return gpu_sort(te, device, indexed ? GpuSort{in[0], out[0], out[2], out[1], out[3], ascending} : plain);
  };
  const Tensor inputs[] = {x};
  const Tensors made = te.graph.extern_op(outputs, inputs, write, block, kSortMemory);
  const auto back = [&](Tensor sorted) { return inner ? sorted : t.transpose(sorted, order); };
  return {back(made[0]), indexed ? back(made[1]) : nullptr};
}

Result<const Expr*> gpu_sort_call(Legalizer& l, const ir::Call* c, const GpuDevice& device, DType index) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  if (x->ndim == 0) return refuse(c, "a scalar has no axis to sort");
  const SortOrder how{axis_of(attr_int(spec(c), op_attr::Axis), x->ndim), !attr_bool(spec(c), op_attr::Descending),
                      index};
  return l.call_te(op_name(c), c->args, c->type, [&](Te& te) -> Tensors {
    const Sorted made = sorted(te, te.in[0], how, device, index.is_void() ? "sort_gpu" : "argsort_gpu");
    return {index.is_void() ? made.values : made.indices};
  });
}

Result<const Expr*> gpu_topk(Legalizer& l, const ir::Call* c, const GpuDevice& device) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  if (x->ndim == 0) return refuse(c, "a scalar has no axis to sort");
  const std::string_view wanted = attr_string(spec(c), op_attr::RetType);
  const int axis = axis_of(attr_int(spec(c), op_attr::Axis), x->ndim);
  const std::int64_t k = attr_int(spec(c), op_attr::K);
  DType index = attr_dtype(spec(c), op_attr::Dtype);
  if (index.is_void()) index = x->dtype;
  if (wanted == "values") index = DType::Void();
  const SortOrder how{axis, !attr_bool(spec(c), op_attr::Largest), index};
  return l.call_te("topk", c->args, c->type, [&](Te& te) -> Tensors {
    const Sorted all = sorted(te, te.in[0], how, device, "topk_gpu");
    const auto first = [&](Tensor t) {
      if (k < 1) return t;
      ExprList shape = topi::shape_list(t);
      const auto extent = ir::const_int(shape[std::size_t(axis)]);
      shape[std::size_t(axis)] = te.ctx.i64(extent ? std::min(k, *extent) : k);
      return te.graph.compute(
          shape, [&](te::Indices i) { return te.graph.load(t, i); }, "T_strided_slice");
    };
    Tensors out;
    if (wanted != "indices") out.push_back(first(all.values));
    if (wanted != "values") out.push_back(first(all.indices));
    return out;
  });
}

bool is_op(const ir::Call* c, std::string_view name) {
  const auto* op = ir::as<ir::Op>(c->callee);
  return op && op->name == name;
}

// Elements that a comparison orders.
bool has_order(const ir::Call* c) {
  const auto* t = c->args.empty() ? nullptr : ir::as<TensorType>(c->args[0]->type);
  return t && t->dtype.lanes == 1 && (t->dtype.is_float() || t->dtype.is_integral());
}

}  // namespace

}  // namespace rldb::ops::legal

namespace rldb::ops {

bool has_gpu_kernel(const ir::Call* call) {
  const bool sorts = legal::is_op(call, op::Sort) || legal::is_op(call, op::Argsort) || legal::is_op(call, op::Topk);
  return legal::has_gpu_scan(call) || (sorts && legal::has_order(call));
}

Result<const ir::Expr*> gpu_kernel(Legalizer& l, const ir::Call* call, const GpuDevice& device) {
  if (legal::has_gpu_scan(call)) return legal::gpu_scan(l, call, device.threads);
  if (legal::is_op(call, op::Sort)) return legal::gpu_sort_call(l, call, device, DType::Void());
  if (legal::is_op(call, op::Topk)) return legal::gpu_topk(l, call, device);
  if (!legal::is_op(call, op::Argsort)) return legal::refuse(call, "it has no kernel for GPUs");
  const auto* out = ir::as<TensorType>(call->type);
  return legal::gpu_sort_call(l, call, device, out->dtype);
}

}  // namespace rldb::ops
