// Type inference: movement of data and change of shape. Indexing is in infer/indexing.cc.
#include <algorithm>
#include <set>

#include "ops/infer/util.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::infer {

Result<const Type*> broadcast_to(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const ir::ShapeType* s, shape_arg(info, call, 1));
  if (x->ndim != ir::kUnknownNdim && s->ndim != ir::kUnknownNdim && s->ndim < x->ndim)
    return type_error(info,
                      "expects the target shape to have the number of ndim at least as the input tensor's, but the "
                      "given tensor has ndim " +
                          std::to_string(x->ndim) + " while the target shape has ndim " + std::to_string(s->ndim),
                      1);
  auto to = shape_arg_dims(call.args[1]);
  auto from = known_dims(x);
  if (to && from) {
    const std::size_t extra = to->size() - from->size();
    for (std::size_t i = 0; i < from->size(); ++i)
      if (!is_one((*from)[i]) && different_dim(ctx, (*from)[i], (*to)[extra + i]))
        return type_error(info,
                          "expects the input tensor shape is broadcastable to the target shape: the target shape at "
                          "dim " +
                              std::to_string(extra + i) + " is " + ir::print_expr((*to)[extra + i]) +
                              " while the input tensor shape at dim " + std::to_string(i) + " is " +
                              ir::print_expr((*from)[i]) + ", which are not equal",
                          1);
  }
  return typed(make_shaped(ctx, call.args[1], x->dtype, x->vdevice));
}

namespace {

// Common properties of tensors that are joined.
struct Joined {
  DType dtype;
  int ndim = ir::kUnknownNdim;
  const TensorType* like = nullptr;  // whose device the result is on
  bool all_shapes = true;
  std::vector<Dims> shapes;  // those that are known
};

Result<Joined> joined(const OpInfo& info, const std::vector<const TensorType*>& tensors) {
  if (tensors.empty()) return type_error(info, "expects at least one tensor in the input Tuple, which is empty", 0);
  Joined out;
  out.dtype = tensors[0]->dtype;
  out.like = on_common_device(tensors);
  DType known = DType::Void();
  bool unknown = false;
  for (const TensorType* t : tensors) {
    if (!known.is_void() && !t->dtype.is_void() && known != t->dtype)
      return type_error(info,
                        "expects all input tensors to have the same dtype, but the input contains tensors with dtype " +
                            to_string(known) + " and " + to_string(t->dtype),
                        0);
    if (!t->dtype.is_void()) known = t->dtype;
    unknown = unknown || t->dtype.is_void();
    if (t->ndim != ir::kUnknownNdim) {
      if (out.ndim != ir::kUnknownNdim && out.ndim != t->ndim)
        return type_error(info,
                          "expects all input tensors to have same ndim, but the input contains tensors with ndim " +
                              std::to_string(out.ndim) + " and " + std::to_string(t->ndim),
                          0);
      out.ndim = t->ndim;
    }
    out.all_shapes = out.all_shapes && t->has_shape;
    if (auto dims = known_dims(t)) out.shapes.push_back(std::move(*dims));
  }
  out.dtype = unknown ? DType::Void() : known;
  return out;
}

// Whether the shapes agree, ignoring the axis (unless negative). False if that cannot be told.
Result<bool> shapes_agree(ir::Context& ctx, const OpInfo& info, const std::vector<Dims>& shapes, int axis) {
  bool known = true;
  for (std::size_t k = 1; k < shapes.size(); ++k)
    for (std::size_t i = 0; i < shapes[0].size(); ++i) {
      const Expr *a = shapes[0][i], *b = shapes[k][i];
      if (int(i) == axis || same_dim(ctx, a, b)) continue;
      known = false;
      if (!different_dim(ctx, a, b)) continue;
      return type_error(info,
                        std::string(axis < 0 ? "expects all input tensors to have identical shapes"
                                             : "expects the input tensors to have the same shape on every dimension "
                                               "except the one indicated by the input axis") +
                            ", but the input contains tensors whose shapes on dimension " + std::to_string(i) +
                            " are " + ir::print_expr(a) + " and " + ir::print_expr(b),
                        0);
    }
  return known;
}

// The operators of an expression, in no particular order.
std::multiset<ir::BinaryKind> operators_of(const Expr* e) {
  std::multiset<ir::BinaryKind> out;
  ir::walk(e, [&](const ir::Node* n) {
    if (const auto* b = ir::as<ir::BinaryExpr>(n)) out.insert(b->op());
    return true;
  });
  return out;
}

}  // namespace

Result<const Type*> concat(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto tensors, tensors_arg(info, call, 0));
  RLDB_TRY(Joined j, joined(info, tensors));
  const bool flat = attr_is_none(call, op_attr::Axis);
  if (flat && j.ndim != ir::kUnknownNdim && j.ndim != 1)
    return type_error(info,
                      "expects the input tensors to be 1-dimensional when the axis is not specified, they have ndim " +
                          std::to_string(j.ndim),
                      0);
  if (flat) j.ndim = 1;
  RLDB_TRY(int axis, normalize_axis(info, flat ? 0 : attr_int(call, op_attr::Axis), j.ndim));
  if (tensors.size() == 1) return typed(tensors[0]);
  RLDB_TRY(bool known, shapes_agree(ctx, info, j.shapes, axis));
  if (!known || !j.all_shapes) return typed(make_ndim(ctx, j.ndim, j.dtype, j.like));
  Dims out = j.shapes[0];
  const Expr*& joined_dim = out[std::size_t(axis)];
  for (std::size_t k = 1; k < j.shapes.size(); ++k)
    joined_dim = ir::add(ctx, joined_dim, j.shapes[k][std::size_t(axis)]);
  // In the order of the tensors, as in TVM (640 + m), unless simplification does more than reorder.
  if (const Expr* simpler = simplify(ctx, joined_dim); operators_of(simpler) != operators_of(joined_dim))
    joined_dim = simpler;
  return typed(make_tensor(ctx, out, j.dtype, j.like));
}

Result<const Type*> stack(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(auto tensors, tensors_arg(info, call, 0));
  RLDB_TRY(Joined j, joined(info, tensors));
  const int ndim = j.ndim == ir::kUnknownNdim ? ir::kUnknownNdim : j.ndim + 1;
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), ndim));
  RLDB_TRY(bool known, shapes_agree(ctx, info, j.shapes, -1));
  if (!known || !j.all_shapes) return typed(make_ndim(ctx, ndim, j.dtype, j.like));
  Dims dims = j.shapes[0];
  dims.insert(dims.begin() + axis, ctx.i64(std::int64_t(tensors.size())));
  return typed(make_tensor(ctx, dims, j.dtype, j.like));
}

Result<const Type*> expand_dims(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = *attr_ints(call, op_attr::Axis);
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
  if (x->ndim == 0) return type_error(info, "requires the input tensor to have at least one dimension", 0);
  if (!x->has_shape) return typed(make_ndim(ctx, 2, x->dtype, x));
  return typed(make_tensor(ctx, {x->shape[0], simplify(ctx, ir::product(ctx, x->shape.subspan(1)))}, x->dtype, x));
}

Result<const Type*> permute_dims(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = attr_ints(call, op_attr::Axes);
  if (axes && x->ndim != ir::kUnknownNdim && int(axes->size()) != x->ndim)
    return attr_error(
        info, op_attr::Axes,
        "expects the number of input axes to equal the ndim of the input tensor, but the tensor ndim is " +
            std::to_string(x->ndim) + " while the given number of axes is " + std::to_string(axes->size()));
  if (x->ndim == ir::kUnknownNdim)
    return typed(make_ndim(ctx, axes ? int(axes->size()) : ir::kUnknownNdim, x->dtype, x));
  std::vector<int> order;
  if (axes) {
    RLDB_TRY(order, normalize_axes(info, *axes, x->ndim, op_attr::Axes));
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

Result<const Type*> reshape(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(shape_arg(info, call, 1));
  const Expr* target = call.args[1];
  auto to = shape_arg_dims(target);
  auto from = known_dims(x);
  if (to)
    for (const Expr* d : *to)
      if (auto c = ir::const_int(d); c && *c < 0)
        return type_error(info,
                          "requires all values in the new shape to be positive except a single \"-1\", but the given "
                          "new shape is " +
                              shape_text(*to),
                          1);
  if (to && from) {
    const Expr* have = ir::product(ctx, *from);
    const Expr* want = ir::product(ctx, *to);
    if (different_dim(ctx, have, want))
      return type_error(info,
                        "expects the new shape to be convertible from the old shape, but the old shape is " +
                            shape_text(*from) + ", with product " + ir::print_expr(simplify(ctx, have)) +
                            ", while the new shape is " + shape_text(*to) + ", with product " +
                            ir::print_expr(simplify(ctx, want)),
                        1);
  }
  if (to) return typed(make_tensor(ctx, *to, x->dtype, x));
  return typed(make_shaped(ctx, target, x->dtype, x->vdevice));
}

namespace {

const Type* tuple_of(ir::Context& ctx, const std::vector<const Type*>& fields) { return ctx.tuple_type(fields); }

// Each section has a type of its own.
constexpr std::int64_t kMaxSections = 1 << 16;

// Pieces between the indices, which are clipped to the axis.
const Type* split_at(ir::Context& ctx, const TensorType* x, int axis, const std::vector<std::int64_t>& at) {
  if (at.empty()) return tuple_of(ctx, {x});
  std::vector<const Type*> out;
  if (!x->has_shape) {
    out.assign(at.size() + 1, make_ndim(ctx, x->ndim, x->dtype, x));
    return tuple_of(ctx, out);
  }
  Dims dims = dims_of(x);
  const Expr* extent = dims[std::size_t(axis)];
  const Expr* zero = ctx.i64(0);
  auto clip = [&](std::int64_t i) { return ir::min(ctx, ctx.i64(std::max<std::int64_t>(i, 0)), extent); };
  for (std::size_t i = 0; i <= at.size(); ++i) {
    const Expr* from = i == 0 ? zero : clip(at[i - 1]);
    const Expr* to = i == at.size() ? extent : clip(at[i]);
    dims[std::size_t(axis)] = simplify(ctx, ir::max(ctx, ir::sub(ctx, to, from), zero));
    out.push_back(make_tensor(ctx, dims, x->dtype, x));
  }
  return tuple_of(ctx, out);
}

const Type* split_into(ir::Context& ctx, const TensorType* x, int axis, std::int64_t n) {
  if (n == 1) return tuple_of(ctx, {x});
  if (!x->has_shape)
    return tuple_of(ctx, std::vector<const Type*>(std::size_t(n), make_ndim(ctx, x->ndim, x->dtype, x)));
  Dims dims = dims_of(x);
  const Expr* extent = dims[std::size_t(axis)];
  const Expr* piece = simplify(ctx, ir::floor_div(ctx, ir::add(ctx, extent, ctx.i64(n - 1)), ctx.i64(n)));
  dims[std::size_t(axis)] = piece;
  std::vector<const Type*> out(std::size_t(n - 1), make_tensor(ctx, dims, x->dtype, x));
  // The last one is the rest.
  dims[std::size_t(axis)] = simplify(ctx, ir::sub(ctx, extent, ir::mul(ctx, piece, ctx.i64(n - 1))));
  out.push_back(make_tensor(ctx, dims, x->dtype, x));
  return tuple_of(ctx, out);
}

}  // namespace

Result<const Type*> split(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  const ir::Attr* how = ir::find_attr(call.attrs, op_attr::IndicesOrSections);
  if (how->is(ir::AttrKind::List)) {
    for (const ir::Attr* item : how->items)
      if (!int_of(item))
        return attr_error(
            info, op_attr::IndicesOrSections,
            "only accepts an array of integers as the indices, but the given indices contain " + describe(item));
    return split_at(ctx, x, axis, *attr_ints(call, op_attr::IndicesOrSections));
  }
  auto n = int_of(how);
  if (!n)
    return attr_error(
        info, op_attr::IndicesOrSections,
        "expects the input indices_or_sections to be either a list of ints or an integer, it is " + describe(how));
  if (*n <= 0)
    return attr_error(
        info, op_attr::IndicesOrSections,
        "expects the input number of sections to be a positive integer, but the given number is " + std::to_string(*n));
  if (*n > kMaxSections)
    return attr_error(
        info, op_attr::IndicesOrSections,
        "makes at most " + std::to_string(kMaxSections) + " sections, " + std::to_string(*n) + " are requested");
  return split_into(ctx, x, axis, *n);
}

Result<const Type*> squeeze(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto axes = attr_ints(call, op_attr::Axis);
  if (axes && axes->empty()) return typed(x);
  if (x->ndim == ir::kUnknownNdim) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  std::vector<bool> gone(std::size_t(x->ndim), false);
  auto shape = known_dims(x);
  if (axes) {
    RLDB_TRY(auto which, normalize_axes(info, *axes, x->ndim));
    if (!shape) return typed(make_ndim(ctx, x->ndim - int(which.size()), x->dtype, x));
    for (int a : which) {
      auto c = ir::const_int((*shape)[std::size_t(a)]);
      if (c && *c != 1)
        return attr_error(info, op_attr::Axis,
                          "expects the input tensor shape values at the given axis positions to be all 1, but the "
                          "tensor shape at axis " +
                              std::to_string(a) + " is " + std::to_string(*c) + ", which is not 1");
      gone[std::size_t(a)] = true;
    }
  } else {
    if (!shape) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
    for (std::size_t i = 0; i < gone.size(); ++i) {
      // A symbolic dim may be 1 or not: then the rank is unknown.
      if (!ir::const_int((*shape)[i])) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
      gone[i] = is_one((*shape)[i]);
    }
  }
  Dims dims;
  for (std::size_t i = 0; i < gone.size(); ++i)
    if (!gone[i]) dims.push_back((*shape)[i]);
  if (dims.size() == shape->size()) return typed(x);
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

namespace {

// From the right, each dim of the target is the data's or 1; the remaining dims of the data are summed.
Result<support::Unit> can_collapse(ir::Context& ctx, const OpInfo& info, const TensorType* x,
                                   const std::optional<Dims>& target) {
  const auto data = known_dims(x);
  if (!data || !target) return support::Unit{};
  std::size_t t = target->size();
  if (t > data->size())
    return type_error(info,
                      "the target shape has " + std::to_string(t) + " dims, more than the data, which has " +
                          std::to_string(data->size()),
                      1);
  for (std::size_t i = data->size(); i > 0 && t > 0; --i) {
    const Expr *from = (*data)[i - 1], *to = (*target)[t - 1];
    if (is_one(to) || same_dim(ctx, from, to)) {
      --t;
      continue;
    }
    const std::string dims = ir::print_expr(from) + " while the dim of target shape is " + ir::print_expr(to);
    if (ir::const_int(from) && ir::const_int(to))
      return type_error(info,
                        "the data shape at dim " + std::to_string(i - 1) + " is " + ir::print_expr(from) +
                            " and the target shape at dim " + std::to_string(t - 1) + " is " + ir::print_expr(to) +
                            ", which do not match the rule of collapse sum",
                        1);
    auto m = type_error(info,
                        "fails to match the axes because of unknown dim or symbolic shape: in this position the dim "
                        "of data shape is " +
                            dims,
                        1);
    m.error.hint = "consider R.match_cast first";
    return m;
  }
  return support::Unit{};
}

}  // namespace

Result<const Type*> collapse_sum_like(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* target, tensor_arg(info, call, 1));
  RLDB_TRY_VOID(can_collapse(ctx, info, x, known_dims(target)));
  return typed(with_dtype(ctx, target, x->dtype));
}

Result<const Type*> collapse_sum_to(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY_VOID(shape_arg(info, call, 1));
  RLDB_TRY_VOID(can_collapse(ctx, info, x, shape_arg_dims(call.args[1])));
  return typed(make_shaped(ctx, call.args[1], x->dtype, x->vdevice));
}

Result<const Type*> repeat(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  std::int64_t n = attr_int(call, op_attr::Repeats);
  if (attr_is_none(call, op_attr::Axis)) {
    if (!x->has_shape) return typed(make_ndim(ctx, 1, x->dtype, x));
    return typed(make_tensor(ctx, {simplify(ctx, ir::mul(ctx, ir::product(ctx, x->shape), ctx.i64(n)))}, x->dtype, x));
  }
  RLDB_TRY(int axis, normalize_axis(info, attr_int(call, op_attr::Axis), x->ndim));
  if (!x->has_shape) return typed(n == 1 ? x : make_ndim(ctx, x->ndim, x->dtype, x));
  Dims dims = dims_of(x);
  dims[std::size_t(axis)] = simplify(ctx, ir::mul(ctx, dims[std::size_t(axis)], ctx.i64(n)));
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

Result<const Type*> tile(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  auto repeats = *attr_ints(call, op_attr::Repeats);
  if (x->ndim == ir::kUnknownNdim) return typed(make_ndim(ctx, ir::kUnknownNdim, x->dtype, x));
  int ndim = std::max(int(repeats.size()), x->ndim);
  if (!x->has_shape) {
    const bool once = ndim == x->ndim && std::all_of(repeats.begin(), repeats.end(), [](auto r) { return r == 1; });
    return typed(once ? x : make_ndim(ctx, ndim, x->dtype, x));
  }
  Dims dims;
  for (int i = 0; i < ndim; ++i) {
    int xi = i - (ndim - x->ndim);
    int ri = i - (ndim - int(repeats.size()));
    const Expr* d = xi < 0 ? static_cast<const Expr*>(ctx.i64(1)) : x->shape[std::size_t(xi)];
    dims.push_back(ri < 0 ? d : simplify(ctx, ir::mul(ctx, d, ctx.i64(repeats[std::size_t(ri)]))));
  }
  return typed(make_tensor(ctx, dims, x->dtype, x));
}

namespace {
// A Python number takes the dtype of the data (void here); T.float32(0) has its own.
DType pad_dtype(const ir::Attr* pad) {
  if (!pad || !pad->is(ir::AttrKind::Expr)) return DType::Void();
  const auto* e = static_cast<const Expr*>(pad->node);
  return e->type && ir::as<ir::PrimType>(e->type) ? e->dtype() : DType::Void();
}

// The number of blocks of `i // c`, where c need not divide the dim of i, as TVM writes it. Null for other maps.
const Expr* padded_blocks(ir::Context& ctx, const Expr* result, const ir::Lambda& map,
                          std::span<const Expr* const> shape) {
  const auto* div = result->kind == ir::BinaryKind::FloorDiv ? ir::as<ir::BinaryExpr>(result) : nullptr;
  const auto block = div ? ir::const_int(div->b) : std::nullopt;
  if (!block || *block <= 1) return nullptr;
  for (std::size_t i = 0; i < map.params.size(); ++i) {
    if (map.params[i] != div->a || ir::isa<ir::IntImm>(shape[i])) continue;
    const Expr* size = ctx.int_imm(shape[i]->dtype(), *block);
    const Expr* over = ir::floor_mod(ctx, shape[i], size);
    if (ir::Analyzer(ctx).prove_equal(over, ctx.int_imm(shape[i]->dtype(), 0)))
      return simplify(ctx, ir::floor_div(ctx, shape[i], size));
    const Expr* minus = ctx.int_imm(shape[i]->dtype(), -*block);
    const Expr* padded = ir::sub(ctx, shape[i], ctx.binary(ir::BinaryKind::FloorMod, shape[i], minus));
    return ctx.binary(ir::BinaryKind::FloorDiv, padded, size);
  }
  return nullptr;
}

// There are no indices of such a dim to map.
bool reads_empty_dim(const Expr* result, const ir::Lambda& map, std::span<const Expr* const> shape) {
  std::vector<const ir::Var*> vars;
  ir::collect_vars(result, vars);
  for (std::size_t i = 0; i < map.params.size(); ++i)
    if (ir::is_const(shape[i], 0) && std::find(vars.begin(), vars.end(), map.params[i]) != vars.end()) return true;
  return false;
}

// Places between dims, in order.
Result<support::Unit> check_separators(const OpInfo& info, const ir::CallSpec& call, std::string_view attr, int ndim) {
  const auto given = attr_ints(call, attr);
  std::int64_t before = 0;
  for (const std::int64_t at : given.value_or(std::vector<std::int64_t>())) {
    if (at < before || (ndim != ir::kUnknownNdim && at > ndim))
      return attr_error(info, attr,
                        std::string(attr) + " must ascend from 0 to the number of dimensions, which is " +
                            (ndim == ir::kUnknownNdim ? "unknown" : std::to_string(ndim)) + ", but " +
                            std::to_string(at) + " is among them");
    before = at;
  }
  return support::Unit{};
}
}  // namespace

Result<const Type*> layout_transform(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  const ir::Attr* map = ir::find_attr(call.attrs, op_attr::IndexMap);
  const auto* lambda = map->is(ir::AttrKind::Expr) ? ir::as<ir::Lambda>(map->node) : nullptr;
  if (map->is(ir::AttrKind::Opaque) && !map->items.empty() && map->items[0]->is(ir::AttrKind::Expr))
    lambda = ir::as<ir::Lambda>(map->items[0]->node);
  if (!lambda)
    return attr_error(info, op_attr::IndexMap, "index_map must be T.index_map(lambda ...), it is " + describe(map));
  if (DType pad = pad_dtype(ir::find_attr(call.attrs, op_attr::PadValue)); !pad.is_void() && pad != x->dtype)
    return attr_error(info, op_attr::PadValue,
                      "pad_value dtype (" + to_string(pad) + ") and input dtype (" +
                          (x->dtype.is_void() ? "unknown" : to_string(x->dtype)) + ") must be the same");
  int out_ndim = int(lambda->results.size());
  if (x->ndim != ir::kUnknownNdim && x->ndim != int(lambda->params.size()))
    return attr_error(
        info, op_attr::IndexMap,
        "number of dimensions in input must match the number of source dimensions in index map, but got " +
            std::to_string(x->ndim) + " != " + std::to_string(lambda->params.size()));
  RLDB_TRY_VOID(check_separators(info, call, op_attr::AxisSeparators, out_ndim));
  RLDB_TRY_VOID(check_separators(info, call, op_attr::InputAxisSeparators, x->ndim));
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
    const auto* mod = r->kind == ir::BinaryKind::FloorMod ? ir::as<ir::BinaryExpr>(r) : nullptr;
    if (mod && ir::isa<ir::IntImm>(mod->b)) {
      dims.push_back(mod->b);
      continue;
    }
    if (constant && reads_empty_dim(r, *lambda, x->shape)) {
      dims.push_back(ctx.i64(0));
      continue;
    }
    if (constant) {
      auto b = ana.bounds(r);
      if (!b.max) return typed(make_ndim(ctx, out_ndim, x->dtype, x));
      dims.push_back(ctx.i64(*b.max + 1));
      continue;
    }
    if (const Expr* blocks = padded_blocks(ctx, r, *lambda, x->shape)) {
      dims.push_back(blocks);
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
  if (tensors.empty()) return type_error(info, "expects at least one 1D tensor in the input Tuple, which is empty", 0);
  std::string_view indexing = attr_is_none(call, op_attr::Indexing) ? "ij" : attr_string(call, op_attr::Indexing);
  if (indexing != "ij" && indexing != "xy")
    return attr_error(info, op_attr::Indexing,
                      "expects indexing to be \"ij\" or \"xy\", it is \"" + std::string(indexing) + "\"");
  Dims dims;
  bool known = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorType* t = tensors[i];
    if (t->ndim != ir::kUnknownNdim && t->ndim != 1)
      return type_error(info,
                        "expects each input tensor to be 1D, but got ndim " + std::to_string(t->ndim) + " at index " +
                            std::to_string(i),
                        0);
    known = known && t->has_shape;
    if (known) dims.push_back(t->shape[0]);
  }
  RLDB_TRY(Joined j, joined(info, tensors));
  if (known && indexing == "xy" && dims.size() > 1) std::swap(dims[0], dims[1]);
  const TensorType* out =
      make_tensor_or_ndim(ctx, known ? std::optional(dims) : std::nullopt, int(tensors.size()), j.dtype, j.like);
  return tuple_of(ctx, std::vector<const Type*>(tensors.size(), out));
}

Result<const Type*> reverse_sequence(ir::Context& ctx, const OpInfo& info, const ir::CallSpec& call) {
  RLDB_TRY(const TensorType* x, tensor_arg(info, call, 0));
  RLDB_TRY(const TensorType* lengths, tensor_arg(info, call, 1));
  if (lengths->ndim != ir::kUnknownNdim && lengths->ndim != 1)
    return type_error(info, "requires seq_lengths to be 1-D, but it has ndim " + std::to_string(lengths->ndim), 1);
  if (!lengths->dtype.is_void() && lengths->dtype != DType::Int(32) && lengths->dtype != DType::Int(64))
    return type_error(
        info, "requires seq_lengths to have dtype int32 or int64, but it has dtype " + to_string(lengths->dtype), 1);
  RLDB_TRY_VOID(normalize_axis(info, attr_int(call, op_attr::SeqAxis), x->ndim, op_attr::SeqAxis));
  RLDB_TRY(int batch, normalize_axis(info, attr_int(call, op_attr::BatchAxis), x->ndim, op_attr::BatchAxis));
  const auto dims = known_dims(x);
  const auto count = known_dims(lengths);
  if (dims && count && different_dim(ctx, (*count)[0], (*dims)[std::size_t(batch)]))
    return type_error(info,
                      "requires seq_lengths.shape[0] to equal the batch axis extent, but seq_lengths.shape[0] is " +
                          ir::print_expr((*count)[0]) + ", while data.shape[" + std::to_string(batch) + "] is " +
                          ir::print_expr((*dims)[std::size_t(batch)]),
                      1);
  return typed(x);
}

}  // namespace rldb::ops::infer
