// Type inference: calls, storage, devices, collectives.
#include "ops/infer/util.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/op/distributed.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::infer {

// The types given by the call; Any when it gives none.
Result<const Type*> ty_args(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const bool dps = op::has(info.name, op::Trait::CallTir) || info.name == op::DistCallTirLocalView;
  if (dps && call.ty_args.size() != 1)
    return type_error(info,
                      "the call needs exactly one output type (out_ty), it has " + std::to_string(call.ty_args.size()));
  if (call.ty_args.empty()) return static_cast<const Type*>(ctx.any());
  if (call.ty_args.size() == 1) return call.ty_args[0];
  return static_cast<const Type*>(ctx.tuple_type(call.ty_args));
}

Result<const Type*> any_type(ir::Context& ctx, const OpInfo&, const ir::CallSpec&) {
  return static_cast<const Type*>(ctx.any());
}
Result<const Type*> void_type(ir::Context& ctx, const OpInfo&, const ir::CallSpec&) {
  return static_cast<const Type*>(ctx.void_type());
}

Result<const Type*> assert_op(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const Type* cond = call.args[0]->type;
  bool good = ir::as<ir::AnyType>(cond) != nullptr;
  if (const auto* p = ir::as<ir::PrimType>(cond)) good = p->dtype.is_bool();
  if (const auto* t = ir::as<TensorType>(cond))
    good = (t->dtype.is_bool() || t->dtype.is_void()) && (t->ndim == 0 || t->ndim == ir::kUnknownNdim);
  if (!good)
    return type_error(
        info, "the argument to assert_op must be a boolean scalar, but its type is `" + ir::print_type(cond) + "`", 0);
  if (!ir::isa<ir::StringImm>(call.args[1])) return type_error(info, "the format argument must be a string literal", 1);
  return static_cast<const Type*>(ctx.void_type());
}

Result<const Type*> to_vdevice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  // "kind:index:scope": index is among the module's devices of that kind.
  const ir::Attr* dst = ir::find_attr(call.attrs, op_attr::DstVdevice);
  ir::VDevice v;
  if (dst->is(ir::AttrKind::String)) {
    std::string_view text = dst->string;
    auto colon = text.find(':');
    v.target_kind = ctx.str(text.substr(0, colon));
    if (colon != text.npos) {
      std::string_view rest = text.substr(colon + 1);
      auto second = rest.find(':');
      for (char c : rest.substr(0, second))
        if (c >= '0' && c <= '9') v.device_id = v.device_id * 10 + (c - '0');
      if (second != rest.npos) v.memory_scope = ctx.str(rest.substr(second + 1));
    }
  } else {
    return static_cast<const Type*>(x);
  }
  const ir::VDevice* device = ctx.vdevice(v);
  if (x->has_shape) return static_cast<const Type*>(ctx.tensor(x->shape, x->dtype, device));
  if (x->shape_var) return static_cast<const Type*>(ctx.tensor_of(x->shape_var, x->ndim, x->dtype, device));
  return static_cast<const Type*>(ctx.tensor_ndim(x->ndim, x->dtype, device));
}

namespace {
Result<const Type*> tensor_of_shape(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call, std::size_t shape,
                                    std::size_t dtype) {
  const auto* t = ir::as<ir::DTypeImm>(call.args[dtype]);
  if (!t)
    return type_error(info,
                      "the input dtype should be a DataTypeImm (R.dtype(...)), but it is " + describe(call.args[dtype]),
                      int(dtype));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, shape));
  const Expr* e = call.args[shape];
  if (auto dims = shape_arg_dims(e); dims && !ir::isa<ir::Var>(e))
    return static_cast<const Type*>(make_tensor(ctx, *dims, t->value, nullptr));
  if (ir::isa<ir::Var>(e)) return static_cast<const Type*>(ctx.tensor_of(e, s->ndim, t->value));
  return static_cast<const Type*>(ctx.tensor_ndim(s->ndim, t->value));
}
}  // namespace

Result<const Type*> alloc_tensor(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  if (call.ty_args.size() == 1) return call.ty_args[0];
  return tensor_of_shape(ctx, info, call, 0, 1);
}
Result<const Type*> tensor_in_storage(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  return tensor_of_shape(ctx, info, call, 2, 3);
}
// A shape in a register gives only the number of dims.
Result<const Type*> tensor_in_vm_storage(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Type* t, tensor_in_storage(ctx, info, call));
  const auto* tensor = ir::as<ir::TensorType>(t);
  if (!ir::isa<ir::Var>(call.args[2])) return t;
  return static_cast<const Type*>(ctx.tensor_ndim(tensor->ndim, tensor->dtype));
}

namespace {

// Bytes of one element, 0 when the dtype is not known.
std::int64_t element_bytes(DType t) {
  return t.is_void() ? 0 : (std::int64_t(t.bits) * std::max<std::int64_t>(t.lanes, 1) + 7) / 8;
}

const Expr* elements(ir::Context& ctx, const Dims& dims, std::int64_t size) {
  const Expr* out = ctx.i64(size);
  for (const Expr* d : dims) out = ir::mul(ctx, out, ir::cast_to(ctx, DType::Int(64), d));
  return out;
}

// Certainly larger, whatever the sizes.
bool exceeds(ir::Context& ctx, const Expr* want, const Expr* have) {
  std::vector<const ir::Var*> vars;
  for (const Expr* e : {have, want}) ir::collect_vars(e, vars);
  ir::Analyzer analyzer(ctx);
  for (const ir::Var* v : vars) analyzer.mark_non_negative(v);
  if (analyzer.prove(ir::compare(ctx, ir::BinaryKind::GT, want, have))) return true;
  const auto least = analyzer.bounds(analyzer.simplify(ir::sub(ctx, want, have))).min;
  return least && *least > 0;
}

// An omitted argument of a view is an empty tuple or, of any type, R.null_value().
bool is_given(const ir::CallSpec& call, std::size_t i) {
  if (call.args.size() <= i || ir::as<ir::TupleType>(call.args[i]->type)) return false;
  return ir::isa<ir::DTypeImm>(call.args[i]) || call.args[i]->type->kind != ir::TypeKind::Any;
}

// How far the view's end lies beyond the end of the data, in words; empty when the view may fit.
std::string view_overrun(ir::Context& ctx, const ir::CallSpec& call, const TensorType* data, const TensorType* view) {
  const auto from = known_dims(data), to = known_dims(view);
  const std::int64_t old_size = element_bytes(data->dtype), new_size = element_bytes(view->dtype);
  const bool keeps_dtype = !is_given(call, 2);
  const bool keeps_shape = !is_given(call, 1);
  const Expr* offset = ctx.i64(0);
  if (call.args.size() > 3 && !ir::as<ir::TupleType>(call.args[3]->type))
    offset = ir::isa<ir::Var>(call.args[3]) ? ctx.i64(0) : call.args[3];
  if (from && to && ((old_size && new_size) || keeps_dtype)) {
    // Without a dtype in elements; a byte offset can only make it worse.
    const bool bytes = old_size && new_size;
    const Expr* have = elements(ctx, *from, bytes ? old_size : 1);
    const Expr* want = elements(ctx, *to, bytes ? new_size : 1);
    const std::string unit = bytes ? " bytes" : " elements";
    if (bytes) want = ir::add(ctx, want, ir::cast_to(ctx, DType::Int(64), offset));
    if (exceeds(ctx, want, have))
      return "the end of the view `" + ir::print_type(view) + "` would occur at " +
             ir::print_expr(simplify(ctx, want)) + unit + ", but the array `" + ir::print_type(data) + "` is only " +
             ir::print_expr(simplify(ctx, have)) + unit + " long";
    return {};
  }
  if (keeps_shape && old_size && new_size && new_size > old_size)
    return "the data type is changed from " + to_string(data->dtype) + " to " + to_string(view->dtype) +
           ", increasing the size per element from " + std::to_string(old_size) + " bytes to " +
           std::to_string(new_size) + " bytes";
  if (keeps_shape && keeps_dtype && exceeds(ctx, offset, ctx.i64(0)))
    return "the view is offset by " + ir::print_expr(offset) + " bytes without being made smaller";
  return {};
}

Result<const Type*> view_type(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);
}  // namespace

Result<const Type*> memory_view(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const Type* view, view_type(ctx, info, call));
  if (call.args.size() > 3 && !ir::as<ir::TupleType>(call.args[3]->type)) {
    const auto* p = ir::as<ir::PrimType>(call.args[3]->type);
    if (!p || p->dtype != DType::Int(64))
      return type_error(info,
                        "expects the relative_byte_offset to be a 64-bit integer, but its type is `" +
                            ir::print_type(call.args[3]->type) + "`",
                        3);
  }
  const auto* t = ir::as<TensorType>(view);
  const std::string overrun = t ? view_overrun(ctx, call, x, t) : std::string();
  if (!overrun.empty())
    return type_error(info, "views into an array must not exceed the bounds of the array being viewed: " + overrun);
  return view;
}

namespace {
// Absent parts are those of the data.
Result<const Type*> view_type(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  DType dtype = x->dtype;
  bool dtype_known = true;
  if (is_given(call, 2)) {
    const auto* d = ir::as<ir::DTypeImm>(call.args[2]);
    if (d && d->value.is_void()) return type_error(info, "expects the dtype of elements, not void", 2);
    dtype = d ? d->value : DType::Void();
    dtype_known = d != nullptr;
  }
  if (is_given(call, 1)) {
    RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
    if (auto dims = shape_arg_dims(call.args[1])) return static_cast<const Type*>(make_tensor(ctx, *dims, dtype, x));
    return static_cast<const Type*>(make_ndim(ctx, s->ndim, dtype, x));
  }
  if (!dtype_known || x->dtype.is_void()) return static_cast<const Type*>(make_ndim(ctx, x->ndim, dtype, x));
  // Without a shape of its own the view has that of the data, whatever the size of its elements.
  return static_cast<const Type*>(with_dtype(ctx, x, dtype));
}
}  // namespace

Result<const Type*> allgather(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim == 0) return type_error(info, "requires the input tensor to have at least one dimension", 0);
  if (!x->has_shape) return static_cast<const Type*>(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  dims[0] = simplify(ctx, ir::mul(ctx, dims[0], ctx.i64(attr_int(call, op_attr::NumWorkers))));
  return static_cast<const Type*>(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> scatter_from_worker0(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t workers = attr_int(call, op_attr::NumWorkers);
  if (workers <= 0)
    return attr_error(info, op_attr::NumWorkers, "num_workers must be positive, it is " + std::to_string(workers));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  if (!x->has_shape) return static_cast<const Type*>(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  const Expr*& d = dims[std::size_t(axis)];
  if (auto c = ir::const_int(d); c && *c % workers != 0)
    return type_error(info,
                      "expects the size of axis " + std::to_string(axis) +
                          " of input tensor to be divisible by the num_workers, but it is " + std::to_string(*c) +
                          " while num_workers is " + std::to_string(workers),
                      0);
  d = simplify(ctx, ir::floor_div(ctx, d, ctx.i64(workers)));
  return static_cast<const Type*>(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> annotate_sharding(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  (void)ctx;
  RLDB_TRY_VOID(tensor_arg(info, call, 0));
  return call.args[0]->type;
}

Result<const Type*> redistribute(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const auto* d = ir::as<ir::DTensorType>(call.args[0]->type);
  if (!d)
    return type_error(info,
                      "a distributed operator must take DTensor instead of Tensor as input, the input's type is `" +
                          ir::print_type(call.args[0]->type) + "`",
                      0);
  const ir::Attr* placement = ir::find_attr(call.attrs, op_attr::Placement);
  if (!placement->is(ir::AttrKind::String))
    return attr_error(info, op_attr::Placement,
                      "placement must be a string such as \"S[0], R\", it is " + describe(placement));
  return static_cast<const Type*>(
      ctx.dtensor(d->tensor, ir::find_attr(call.attrs, op_attr::DeviceMesh), placement->string));
}

// For a local tensor each worker's part; a distributed one stays whole and is divided along the axis.
Result<const Type*> replica_to_shard(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const Type* part, scatter_from_worker0(ctx, info, call));
  const auto* d = ir::as<ir::DTensorType>(call.args[0]->type);
  if (!d) return part;
  if (d->placement != "R")
    return type_error(info, "the input must be a replica, its placement is \"" + std::string(d->placement) + "\"", 0);
  std::int64_t axis = attr_int(call, op_attr::Axis);
  if (axis < 0 && d->tensor->ndim != ir::kUnknownNdim) axis += d->tensor->ndim;
  return static_cast<const Type*>(ctx.dtensor(d->tensor, d->device_mesh, "S[" + std::to_string(axis) + "]"));
}

}  // namespace rldb::ops::infer
