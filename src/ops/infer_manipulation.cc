// Type inference: movement of data and change of shape. Indexing is in infer_indexing.cc.
#include "ops/infer_util.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::infer {

namespace {
const Type* typed(const TensorType* t) { return t; }
}  // namespace

Result<const Type*> broadcast_to(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
  if (x->ndim != ir::kUnknownNdim && s->ndim != ir::kUnknownNdim && s->ndim < x->ndim)
    return type_error(info,
                      "the target shape has fewer dims (" + std::to_string(s->ndim) + ") than the input (" +
                          std::to_string(x->ndim) + ")",
                      1);
  auto dims = shape_arg_dims(call.args[1]);
  if (!dims) {
    if (ir::isa<ir::Var>(call.args[1])) return typed(ctx.tensor_of(call.args[1], s->ndim, x->dtype, x->vdevice));
    return typed(make_ndim(ctx, s->ndim, x->dtype, x));
  }
  if (x->has_shape) {
    std::size_t extra = dims->size() - x->shape.size();
    for (std::size_t i = 0; i < x->shape.size(); ++i) {
      const Expr* from = x->shape[i];
      const Expr* to = (*dims)[extra + i];
      if (!is_one(from) && different_dim(ctx, from, to))
        return type_error(info,
                          "dim " + std::to_string(i) + " of the input is " + ir::print_expr(from) +
                              " and cannot become " + ir::print_expr(to),
                          1);
    }
  }
  return typed(make_tensor(ctx, *dims, x->dtype, x));
}

Result<const Type*> concat(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto tensors, tensors_arg(info, call, 0));
  if (tensors.empty()) return type_error(info, "there must be at least one tensor", 0);
  DType dtype = tensors[0]->dtype;
  int ndim = ir::kUnknownNdim;
  bool all_shapes = true;
  for (const TensorType* t : tensors) {
    if (!t->dtype.is_void() && !dtype.is_void() && t->dtype != dtype)
      return type_error(
          info, "all tensors must have the same dtype, found " + to_string(dtype) + " and " + to_string(t->dtype), 0);
    if (t->dtype.is_void()) dtype = DType::Void();
    all_shapes = all_shapes && t->has_shape;
    if (t->ndim == ir::kUnknownNdim) continue;
    if (ndim != ir::kUnknownNdim && ndim != t->ndim)
      return type_error(
          info,
          "all tensors must have the same rank, found " + std::to_string(ndim) + " and " + std::to_string(t->ndim), 0);
    ndim = t->ndim;
  }
  if (attr_is_none(call, "axis")) {
    if (ndim != ir::kUnknownNdim && ndim != 1)
      return type_error(info, "without an axis the tensors must be 1-dimensional", 0);
  }
  RLDB_TRY(int axis, normalize_axis(info, attr_is_none(call, "axis") ? 0 : attr_int(call, "axis"), ndim));
  if (!all_shapes) return typed(make_ndim(ctx, ndim, dtype, tensors[0]));
  Dims out = dims_of(tensors[0]);
  bool known = true;
  for (std::size_t k = 1; k < tensors.size(); ++k) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Expr* d = tensors[k]->shape[i];
      if (int(i) == axis) {
        out[i] = ir::add(ctx, out[i], d);
        continue;
      }
      if (same_dim(ctx, out[i], d)) continue;
      if (different_dim(ctx, out[i], d))
        return type_error(
            info, "dim " + std::to_string(i) + " differs: " + ir::print_expr(out[i]) + " and " + ir::print_expr(d), 0);
      known = false;
    }
  }
  if (!known) return typed(make_ndim(ctx, ndim, dtype, tensors[0]));
  out[std::size_t(axis)] = simplify(ctx, out[std::size_t(axis)]);
  return typed(make_tensor(ctx, out, dtype, tensors[0]));
}

Result<const Type*> stack(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto tensors, tensors_arg(info, call, 0));
  if (tensors.empty()) return type_error(info, "there must be at least one tensor", 0);
  const TensorType* first = tensors[0];
  bool known = true;
  for (const TensorType* t : tensors) {
    if (!t->dtype.is_void() && !first->dtype.is_void() && t->dtype != first->dtype)
      return type_error(
          info,
          "all tensors must have the same dtype, found " + to_string(first->dtype) + " and " + to_string(t->dtype), 0);
    if (t->ndim != first->ndim && t->ndim != ir::kUnknownNdim && first->ndim != ir::kUnknownNdim)
      return type_error(info, "all tensors must have the same rank", 0);
    known = known && t->has_shape;
    if (!known) continue;
    for (std::size_t i = 0; i < t->shape.size(); ++i)
      if (different_dim(ctx, t->shape[i], first->shape[i]))
        return type_error(info, "all tensors must have the same shape", 0);
  }
  int ndim = first->ndim == ir::kUnknownNdim ? ir::kUnknownNdim : first->ndim + 1;
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), ndim));
  if (!known) return typed(make_ndim(ctx, ndim, first->dtype, first));
  Dims dims = dims_of(first);
  dims.insert(dims.begin() + axis, ctx.i64(std::int64_t(tensors.size())));
  return typed(make_tensor(ctx, dims, first->dtype, first));
}

Result<const Type*> expand_dims(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = *attr_ints(call, "axis");
  if (axes.empty()) return typed(x);
  if (x->ndim == ir::kUnknownNdim) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  int ndim = x->ndim + int(axes.size());
  RLDB_TRY(auto where, normalize_axes(info, axes, ndim));
  if (!x->has_shape) return typed(make_ndim(ctx, ndim, x->dtype, x));
  Dims dims(std::size_t(ndim), nullptr);
  for (int a : where) dims[std::size_t(a)] = ctx.i64(1);
  std::size_t next = 0;
  for (const Expr*& d : dims)
    if (!d) d = x->shape[next++];
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> flatten(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (x->ndim == 1) return typed(x);
  if (x->ndim == 0) return typed(make_tensor(ctx, {ctx.i64(1)}, x->dtype, x));
  if (!x->has_shape) return typed(make_ndim(ctx, 1, x->dtype, x));
  return typed(make_tensor(ctx, {simplify(ctx, ir::product(ctx, x->shape))}, x->dtype, x));
}

Result<const Type*> batch_flatten(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  if (!x->has_shape) return typed(make_ndim(ctx, 2, x->dtype, x));
  if (x->shape.empty()) return type_error(info, "the input must have at least one dim", 0);
  return typed(make_tensor(ctx, {x->shape[0], simplify(ctx, ir::product(ctx, x->shape.subspan(1)))}, x->dtype, x));
}

Result<const Type*> permute_dims(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = attr_ints(call, "axes");
  if (axes && x->ndim != ir::kUnknownNdim && int(axes->size()) != x->ndim)
    return type_error(info, "the input has " + std::to_string(x->ndim) + " dims, " + std::to_string(axes->size()) +
                                " axes are given");
  if (x->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, axes ? int(axes->size()) : ir::kUnknownNdim, x->dtype, x));
  std::vector<int> order;
  if (axes) {
    RLDB_TRY(order, normalize_axes(info, *axes, x->ndim));
  } else {
    for (int i = x->ndim - 1; i >= 0; --i) order.push_back(i);
  }
  bool identity = true;
  for (std::size_t i = 0; i < order.size(); ++i) identity = identity && order[i] == int(i);
  if (identity) return typed(x);
  if (!x->has_shape) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims;
  for (int a : order) dims.push_back(x->shape[std::size_t(a)]);
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

namespace {

// -1 in a target stands for what is left of the elements, 0 for the input's own dim.
Result<support::Unit> complete_target(ir::Context& ctx, const OpInfo& info, const TensorType* x, Dims& target) {
  int open = -1;
  Dims others;
  for (std::size_t i = 0; i < target.size(); ++i) {
    auto c = ir::const_int(target[i]);
    if (c && *c == -1) {
      if (open >= 0) return type_error(info, "only one dim of the target may be -1", 1);
      open = int(i);
      continue;
    }
    if (c && *c < -1) return type_error(info, "dim " + std::to_string(i) + " of the target is negative", 1);
    others.push_back(target[i]);
  }
  if (open < 0) return support::Unit{};
  if (!x->has_shape) {
    target[std::size_t(open)] = nullptr;
    return support::Unit{};
  }
  const Expr* total = ir::product(ctx, x->shape);
  const Expr* rest = ir::product(ctx, others);
  auto t = ir::const_int(total);
  auto r = ir::const_int(rest);
  if (t && r && (*r == 0 || *t % *r != 0))
    return type_error(info, std::to_string(*t) + " elements cannot be divided into rows of " + std::to_string(*r), 1);
  target[std::size_t(open)] = simplify(ctx, is_one(rest) ? total : ir::floor_div(ctx, total, rest));
  return support::Unit{};
}

}  // namespace

Result<const Type*> reshape(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
  auto dims = shape_arg_dims(call.args[1]);
  if (dims) {
    RLDB_TRY_VOID(complete_target(ctx, info, x, *dims));
    for (const Expr* d : *dims)
      if (!d) return typed(make_ndim(ctx, int(dims->size()), x->dtype, x));
    if (x->has_shape) {
      const Expr* have = ir::product(ctx, x->shape);
      const Expr* want = ir::product(ctx, *dims);
      if (different_dim(ctx, have, want))
        return type_error(
            info, "the input has " + ir::print_expr(have) + " elements, the target shape has " + ir::print_expr(want),
            1);
    }
    return typed(make_tensor(ctx, *dims, x->dtype, x));
  }
  if (ir::isa<ir::Var>(call.args[1])) return typed(ctx.tensor_of(call.args[1], s->ndim, x->dtype, x->vdevice));
  return typed(make_ndim(ctx, s->ndim, x->dtype, x));
}

namespace {

const Type* tuple_of(ir::Context& ctx, const std::vector<const Type*>& fields) { return ctx.tuple_type(fields); }

Result<const Type*> split_at(ir::Context& ctx, const OpInfo& info, const TensorType* x, int axis,
                             std::vector<std::int64_t> at) {
  for (std::int64_t& i : at) i = std::max<std::int64_t>(i, 0);  // clipped, not counted from the end
  std::vector<const Type*> out;
  if (!x->has_shape) {
    for (std::size_t i = 0; i <= at.size(); ++i) out.push_back(make_ndim(ctx, x->ndim, x->dtype, x));
    return tuple_of(ctx, out);
  }
  Dims dims = dims_of(x);
  const Expr* extent = dims[std::size_t(axis)];
  const Expr* zero = ctx.i64(0);
  for (std::size_t i = 0; i <= at.size(); ++i) {
    const Expr* from = i == 0 ? zero : ctx.i64(at[i - 1]);
    const Expr* to = i == at.size() ? extent : ctx.i64(at[i]);
    if (i < at.size())
      if (auto e = ir::const_int(extent); e && at[i] > *e) to = extent;
    if (i > 0)
      if (auto e = ir::const_int(extent); e && at[i - 1] > *e) from = extent;
    const Expr* length = simplify(ctx, ir::max(ctx, zero, ir::sub(ctx, to, from)));
    if (i == at.size() && !ir::const_int(extent)) length = simplify(ctx, ir::sub(ctx, to, from));
    dims[std::size_t(axis)] = length;
    out.push_back(make_tensor(ctx, dims, x->dtype, x));
  }
  (void)info;
  return tuple_of(ctx, out);
}

Result<const Type*> split_into(ir::Context& ctx, const OpInfo& info, const TensorType* x, int axis, std::int64_t n) {
  if (n <= 0) return type_error(info, "the number of sections must be positive, it is " + std::to_string(n));
  std::vector<const Type*> out;
  if (!x->has_shape) {
    for (std::int64_t i = 0; i < n; ++i) out.push_back(make_ndim(ctx, x->ndim, x->dtype, x));
    return tuple_of(ctx, out);
  }
  Dims dims = dims_of(x);
  const Expr* extent = dims[std::size_t(axis)];
  const Expr* piece = simplify(ctx, ir::floor_div(ctx, ir::add(ctx, extent, ctx.i64(n - 1)), ctx.i64(n)));
  for (std::int64_t i = 0; i < n; ++i) {
    const Expr* length = piece;
    // The last one is what is left.
    if (i == n - 1) length = simplify(ctx, ir::sub(ctx, extent, ir::mul(ctx, piece, ctx.i64(n - 1))));
    dims[std::size_t(axis)] = length;
    out.push_back(make_tensor(ctx, dims, x->dtype, x));
  }
  return tuple_of(ctx, out);
}

}  // namespace

Result<const Type*> split(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), x->ndim));
  const ir::Attr* how = ir::find_attr(call.attrs, "indices_or_sections");
  if (how->is(ir::AttrKind::List)) return split_at(ctx, info, x, axis, *attr_ints(call, "indices_or_sections"));
  auto n = int_of(how);
  if (!n) return type_error(info, "indices_or_sections must be an int or a list of ints, it is " + describe(how));
  return split_into(ctx, info, x, axis, *n);
}

Result<const Type*> squeeze(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = attr_ints(call, "axis");
  if (x->ndim == ir::kUnknownNdim) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  std::vector<bool> gone(std::size_t(x->ndim), false);
  if (axes) {
    RLDB_TRY(auto which, normalize_axes(info, *axes, x->ndim));
    if (!x->has_shape) return typed(make_ndim(ctx, x->ndim - int(which.size()), x->dtype, x));
    for (int a : which) {
      const Expr* d = x->shape[std::size_t(a)];
      auto c = ir::const_int(d);
      if (c && *c != 1)
        return type_error(info, "axis " + std::to_string(a) + " has " + std::to_string(*c) +
                                    " elements, only an axis of 1 can be removed");
      gone[std::size_t(a)] = true;
    }
  } else {
    if (!x->has_shape) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
    for (std::size_t i = 0; i < gone.size(); ++i) {
      // A symbolic dim may be 1 or not: then nothing is known of the rank.
      if (!ir::const_int(x->shape[i])) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
      gone[i] = is_one(x->shape[i]);
    }
  }
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) dims.push_back(x->shape[i]);
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> collapse_sum_like(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* target, tensor_arg(info, call, 1));
  return typed(with_dtype(ctx, target, x->dtype));
}

Result<const Type*> collapse_sum_to(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
  if (auto dims = shape_arg_dims(call.args[1])) return typed(make_tensor(ctx, *dims, x->dtype, x));
  return typed(make_ndim(ctx, s->ndim, x->dtype, x));
}

Result<const Type*> repeat(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t n = attr_int(call, "repeats");
  if (attr_is_none(call, "axis")) {
    if (!x->has_shape) return typed(make_ndim(ctx, 1, x->dtype, x));
    return typed(make_tensor(ctx, {simplify(ctx, ir::mul(ctx, ir::product(ctx, x->shape), ctx.i64(n)))}, x->dtype, x));
  }
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, "axis"), x->ndim));
  if (!x->has_shape) return typed(make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  dims[std::size_t(axis)] = simplify(ctx, ir::mul(ctx, dims[std::size_t(axis)], ctx.i64(n)));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> tile(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto repeats = *attr_ints(call, "repeats");
  if (x->ndim == ir::kUnknownNdim) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  int ndim = std::max(int(repeats.size()), x->ndim);
  if (!x->has_shape) return typed(make_ndim(ctx, ndim, x->dtype, x));
  Dims dims;
  for (int i = 0; i < ndim; ++i) {
    int xi = i - (ndim - x->ndim);
    int ri = i - (ndim - int(repeats.size()));
    const Expr* d = xi < 0 ? static_cast<const Expr*>(ctx.i64(1)) : x->shape[std::size_t(xi)];
    dims.push_back(ri < 0 ? d : simplify(ctx, ir::mul(ctx, d, ctx.i64(repeats[std::size_t(ri)]))));
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> layout_transform(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  const ir::Attr* map = ir::find_attr(call.attrs, "index_map");
  const auto* lambda = map->is(ir::AttrKind::Expr) ? ir::as<ir::Lambda>(map->node) : nullptr;
  if (map->is(ir::AttrKind::Opaque) && !map->items.empty() && map->items[0]->is(ir::AttrKind::Expr))
    lambda = ir::as<ir::Lambda>(map->items[0]->node);
  if (!lambda) return type_error(info, "index_map must be T.index_map(lambda ...), it is " + describe(map));
  int out_ndim = int(lambda->results.size());
  if (x->ndim != ir::kUnknownNdim && x->ndim != int(lambda->params.size()))
    return type_error(info, "the index map takes " + std::to_string(lambda->params.size()) +
                                " indices, the input has " + std::to_string(x->ndim) + " dims");
  if (!x->has_shape) return typed(make_ndim(ctx, out_ndim, x->dtype, x));
  // The image of a box under sums, products, // and % by constants: its upper bound in each coordinate.
  Dims dims;
  ir::Analyzer ana(ctx);
  ir::VarMap last;
  bool constant = true;
  for (std::size_t i = 0; i < lambda->params.size(); ++i) {
    ana.bind_range(lambda->params[i], {ctx.i64(0), x->shape[i]});
    last[lambda->params[i]] = ir::sub(ctx, x->shape[i], ctx.i64(1));
    constant = constant && ir::isa<ir::IntImm>(x->shape[i]);
  }
  for (const Expr* r : lambda->results) {
    // e % c has c values: a dim that c does not divide is padded.
    const auto* mod = r->kind == ir::NodeKind::FloorMod ? ir::as<ir::BinaryExpr>(r) : nullptr;
    if (mod && ir::isa<ir::IntImm>(mod->b)) {
      dims.push_back(mod->b);
      continue;
    }
    if (constant) {
      auto b = ana.bounds(r);
      if (!b.max) return typed(make_ndim(ctx, out_ndim, x->dtype, x));
      dims.push_back(ctx.i64(*b.max + 1));
      continue;
    }
    // Symbolic: monotone maps (no %) take their largest value at the last index.
    dims.push_back(simplify(ctx, ir::add(ctx, ir::substitute(ctx, r, last), ctx.i64(1))));
  }
  for (const Expr*& d : dims)
    if (const auto* i = ir::as_int(d)) d = ctx.i64(i->value);
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> meshgrid(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto tensors, tensors_arg(info, call, 0));
  if (tensors.empty()) return type_error(info, "there must be at least one tensor", 0);
  Dims dims;
  bool known = true;
  for (const TensorType* t : tensors) {
    if (t->ndim != ir::kUnknownNdim && t->ndim != 1) return type_error(info, "the tensors must be 1-dimensional", 0);
    known = known && t->has_shape;
    if (known) dims.push_back(t->shape[0]);
  }
  if (known && !attr_is_none(call, "indexing") && attr_string(call, "indexing") == "xy" && dims.size() > 1)
    std::swap(dims[0], dims[1]);
  std::vector<const Type*> fields;
  for (const TensorType* t : tensors)
    fields.push_back(known ? make_tensor(ctx, dims, t->dtype, t) : make_ndim(ctx, int(tensors.size()), t->dtype, t));
  return tuple_of(ctx, fields);
}

}  // namespace rldb::ops::infer
