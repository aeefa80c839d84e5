// Type inference: calls, storage, devices, collectives.
#include "ops/infer_util.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::infer {

// The types that the call brings along; Any when it brings none.
Result<const Type*> ty_args(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  bool dps = info.short_name().starts_with("call_tir") || info.short_name() == "call_dps_packed" ||
             info.short_name() == "dist.call_tir_local_view";
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
    return type_error(info, "the condition must be a boolean scalar, its type is `" + ir::print_type(cond) + "`", 0);
  if (!ir::isa<ir::StringImm>(call.args[1])) return type_error(info, "the format must be a string literal", 1);
  return static_cast<const Type*>(ctx.void_type());
}

Result<const Type*> to_vdevice(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  // "kind:index:scope": index is among the module's devices of that kind.
  const ir::Attr* dst = ir::find_attr(call.attrs, "dst_vdevice");
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
  if (!t) return type_error(info, "the dtype must be R.dtype(...), it is " + describe(call.args[dtype]), int(dtype));
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

namespace {
// Elements of a shape times `size`, or null when there is nothing to say.
const Expr* total(ir::Context& ctx, std::span<const Expr* const> dims, std::int64_t size) {
  const Expr* out = ctx.i64(size);
  for (const Expr* d : dims) out = ir::mul(ctx, out, ir::cast_to(ctx, DType::Int(64), d));
  return out;
}

// Is the view (at an offset of as many bytes) certainly larger than what it looks at?
bool outgrows(ir::Context& ctx, const TensorType* source, const TensorType* view, const Expr* offset) {
  if (!source->has_shape || !view->has_shape) return false;
  const bool sized = !source->dtype.is_void() && !view->dtype.is_void();
  if (!sized && source->dtype != view->dtype) return false;
  const Expr* have = total(ctx, source->shape, sized ? std::int64_t(source->dtype.bytes()) : 1);
  const Expr* want = total(ctx, view->shape, sized ? std::int64_t(view->dtype.bytes()) : 1);
  if (sized && offset) want = ir::add(ctx, want, ir::cast_to(ctx, DType::Int(64), offset));
  ir::Analyzer analyzer(ctx);
  std::vector<const ir::Var*> vars;
  for (const Expr* e : {have, want}) ir::collect_vars(e, vars);
  for (const ir::Var* v : vars) analyzer.mark_non_negative(v);
  if (analyzer.prove(ir::compare(ctx, ir::NodeKind::GT, want, have))) return true;
  const auto least = analyzer.bounds(analyzer.simplify(ir::sub(ctx, want, have))).min;
  return least && *least > 0;
}

Result<const Type*> view_type(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call);
}  // namespace

Result<const Type*> memory_view(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const Type* view, view_type(ctx, info, call));
  const Expr* offset = nullptr;
  if (call.args.size() > 3 && call.args[3]->type->kind == ir::TypeKind::Prim) offset = call.args[3];
  if (const auto* t = ir::as<TensorType>(view); t && outgrows(ctx, x, t, offset))
    return type_error(info, "the view `" + ir::print_type(t) + "` is larger than the data `" + ir::print_type(x) + "`");
  return view;
}

namespace {
// Absent parts are empty tuples and keep what the data has.
Result<const Type*> view_type(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto given = [&](std::size_t i) { return call.args.size() > i && !ir::as<ir::TupleType>(call.args[i]->type); };
  DType dtype = x->dtype;
  bool dtype_known = true;
  if (given(2)) {
    const auto* d = ir::as<ir::DTypeImm>(call.args[2]);
    dtype = d ? d->value : DType::Void();
    dtype_known = d != nullptr;
  }
  if (given(1)) {
    RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
    if (auto dims = shape_arg_dims(call.args[1])) return static_cast<const Type*>(make_tensor(ctx, *dims, dtype, x));
    return static_cast<const Type*>(make_ndim(ctx, s->ndim, dtype, x));
  }
  if (!dtype_known || x->dtype.is_void()) return static_cast<const Type*>(make_ndim(ctx, x->ndim, dtype, x));
  // Without a shape of its own the view has the data's, whatever the size of its elements.
  return static_cast<const Type*>(with_dtype(ctx, x, dtype));
}
}  // namespace

Result<const Type*> allgather(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (!x->has_shape || x->shape.empty()) return static_cast<const Type*>(x);
  Dims dims = dims_of(x);
  dims[0] = simplify(ctx, ir::mul(ctx, dims[0], ctx.i64(attr_int(call, "num_workers"))));
  return static_cast<const Type*>(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> scatter_from_worker0(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t workers = attr_int(call, "num_workers");
  if (workers <= 0) return type_error(info, "num_workers must be positive, it is " + std::to_string(workers));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), x->ndim));
  if (!x->has_shape) return static_cast<const Type*>(x);
  Dims dims = dims_of(x);
  const Expr*& d = dims[std::size_t(axis)];
  if (auto c = ir::const_int(d); c && *c % workers != 0)
    return type_error(info,
                      "dim " + std::to_string(axis) + " (" + std::to_string(*c) + ") cannot be divided among " +
                          std::to_string(workers) + " workers",
                      0);
  d = simplify(ctx, ir::floor_div(ctx, d, ctx.i64(workers)));
  return static_cast<const Type*>(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> annotated(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  const auto* d = ir::as<ir::DTensorType>(call.args[0]->type);
  const TensorType* t = d ? d->tensor : ir::as<TensorType>(call.args[0]->type);
  if (!t)
    return type_error(info, "the input must be a tensor, its type is `" + ir::print_type(call.args[0]->type) + "`", 0);
  const ir::Attr* mesh = ir::find_attr(call.attrs, "device_mesh");
  const ir::Attr* placement = ir::find_attr(call.attrs, "placement");
  if (!placement->is(ir::AttrKind::String)) return call.args[0]->type;
  return static_cast<const Type*>(ctx.dtensor(t, mesh, placement->string));
}

}  // namespace rldb::ops::infer
