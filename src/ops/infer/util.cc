// Shared by the inference functions: arguments, axes, broadcasting, result types, errors.
#include "ops/infer/util.h"

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/support/text.h"

namespace rldb::ops {

using source::message;
using support::Failure;

support::Failure<source::Message> type_error(const OpInfo& info, std::string text, int argument) {
  auto m = message(diag::OpTypeError, info.name, text);
  m.argument = argument;
  return Failure(std::move(m));
}

support::Failure<source::Message> attr_error(const OpInfo& info, std::string_view attribute, std::string text) {
  return Failure(message(diag::OpTypeError, info.name, text).with_attribute(attribute));
}

namespace {

const TensorType* as_tensor(const Type* t) {
  if (const auto* d = ir::as<ir::DTensorType>(t)) return d->tensor;
  return ir::as<TensorType>(t);
}

std::string arg_name(const OpInfo& info, std::size_t index) {
  if (index < info.args.size()) return std::string(info.args[index].name);
  return "#" + std::to_string(index);
}

std::string not_a_tensor(const OpInfo& info, const ir::CallSpec& call, std::size_t index, std::string_view want) {
  return "requires argument `" + arg_name(info, index) + "` to be " + std::string(want) + ", but its type is `" +
         ir::print_type(call.args[index]->type) + "`";
}

}  // namespace

Result<const TensorType*> tensor_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index) {
  if (const TensorType* t = as_tensor(call.args[index]->type)) return t;
  return type_error(info, not_a_tensor(info, call, index, "a tensor"), int(index));
}

Result<const TensorType*> tensor_or_prim_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index) {
  const Type* type = call.args[index]->type;
  if (const TensorType* t = as_tensor(type)) return t;
  if (ir::as<ir::PrimType>(type)) return static_cast<const TensorType*>(nullptr);
  return type_error(info, not_a_tensor(info, call, index, "a tensor or a scalar"), int(index));
}

Result<std::vector<const TensorType*>> tensors_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index) {
  const auto* tuple = ir::as<ir::TupleType>(call.args[index]->type);
  if (!tuple) return type_error(info, not_a_tensor(info, call, index, "a Tuple of Tensors"), int(index));
  std::vector<const TensorType*> out;
  for (const Type* f : tuple->fields) {
    const TensorType* t = as_tensor(f);
    if (!t) return type_error(info, not_a_tensor(info, call, index, "a Tuple of Tensors"), int(index));
    out.push_back(t);
  }
  return out;
}

std::optional<Dims> known_dims(const TensorType* t) {
  if (t->has_shape) return dims_of(t);
  return t->shape_var ? shape_arg_dims(t->shape_var) : std::nullopt;
}

std::optional<Dims> shape_arg_dims(const Expr* shape) {
  if (const auto* s = ir::as<ir::ShapeExpr>(shape)) return Dims(s->values.begin(), s->values.end());
  const auto* t = ir::as<ir::ShapeType>(shape->type);
  if (t && t->has_values) return Dims(t->values.begin(), t->values.end());
  return std::nullopt;
}

Result<const ir::ShapeType*> shape_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index) {
  if (const auto* t = ir::as<ir::ShapeType>(call.args[index]->type)) return t;
  return type_error(info, not_a_tensor(info, call, index, "a shape"), int(index));
}

std::optional<Dims> prims_arg(const Expr* tuple) {
  if (const auto* s = ir::as<ir::ShapeExpr>(tuple)) return Dims(s->values.begin(), s->values.end());
  const auto* t = ir::as<ir::Tuple>(tuple);
  if (!t) return std::nullopt;
  for (const Expr* e : t->items)
    if (!ir::as<ir::PrimType>(e->type)) return std::nullopt;
  return Dims(t->items.begin(), t->items.end());
}

namespace {
const ir::Attr* need(const ir::CallSpec& call, std::string_view name) {
  const ir::Attr* a = ir::find_attr(call.attrs, name);
  RLDB_CHECK(a != nullptr, "attribute is not completed: " + std::string(name));
  return a;
}
}  // namespace

std::int64_t attr_int(const ir::CallSpec& call, std::string_view name) { return need(call, name)->integer; }
bool attr_bool(const ir::CallSpec& call, std::string_view name) { return need(call, name)->integer != 0; }
double attr_float(const ir::CallSpec& call, std::string_view name) { return float_of(need(call, name)).value_or(0); }
std::vector<double> attr_floats(const ir::CallSpec& call, std::string_view name) {
  std::vector<double> out;
  for (const ir::Attr* item : need(call, name)->items) out.push_back(float_of(item).value_or(0));
  return out;
}
std::string_view attr_string(const ir::CallSpec& call, std::string_view name) { return need(call, name)->string; }
DType attr_dtype(const ir::CallSpec& call, std::string_view name) {
  const ir::Attr* a = need(call, name);
  return a->is(ir::AttrKind::DType) ? a->dtype : DType::Void();
}
bool attr_is_none(const ir::CallSpec& call, std::string_view name) { return need(call, name)->is(ir::AttrKind::None); }
std::optional<std::vector<std::int64_t>> attr_ints(const ir::CallSpec& call, std::string_view name) {
  const ir::Attr* a = need(call, name);
  if (a->is(ir::AttrKind::None)) return std::nullopt;
  std::vector<std::int64_t> out;
  if (!a->is(ir::AttrKind::List)) return std::vector<std::int64_t>{a->integer};
  for (const ir::Attr* item : a->items) out.push_back(int_of(item).value_or(0));
  return out;
}

Dims attr_dims(ir::Context& ctx, const ir::CallSpec& call, std::string_view name) {
  Dims out;
  for (const ir::Attr* item : need(call, name)->items) {
    const auto i = int_of(item);
    out.push_back(i ? static_cast<const Expr*>(ctx.i64(*i)) : static_cast<const Expr*>(item->node));
  }
  return out;
}

Result<int> normalize_axis(const OpInfo& info, std::int64_t axis, int ndim, std::string_view attribute) {
  if (ndim == ir::kUnknownNdim) return int(axis);
  if (axis < -ndim || axis >= ndim)
    return attr_error(info, attribute,
                      "the input axis " + std::to_string(axis) + " is out of range: the input tensor has " +
                          support::counted(std::size_t(ndim), "dimension") + ", so axis should be in range [" +
                          std::to_string(-ndim) + ", " + std::to_string(ndim) + ")");
  return int(axis < 0 ? axis + ndim : axis);
}

Result<int> normalize_axis(const OpInfo& info, std::int64_t axis, int ndim) {
  return normalize_axis(info, axis, ndim, op_attr::Axis);
}

Result<std::vector<int>> normalize_axes(const OpInfo& info, const std::vector<std::int64_t>& axes, int ndim,
                                        std::string_view attribute) {
  std::vector<int> out;
  for (std::int64_t a : axes) {
    RLDB_TRY(int axis, normalize_axis(info, a, ndim, attribute));
    for (int seen : out)
      if (seen == axis)
        return attr_error(info, attribute,
                          "the input axes is required to be non-repetitive, but multiple given axes refer to axis " +
                              std::to_string(axis));
    out.push_back(axis);
  }
  return out;
}

Result<std::vector<int>> normalize_axes(const OpInfo& info, const std::vector<std::int64_t>& axes, int ndim) {
  return normalize_axes(info, axes, ndim, op_attr::Axis);
}

bool is_one(const Expr* e) { return ir::is_const(e, 1); }

bool same_dim(ir::Context& ctx, const Expr* a, const Expr* b) {
  if (a == b) return true;
  auto ca = ir::const_int(a);
  auto cb = ir::const_int(b);
  if (ca && cb) return *ca == *cb;
  if (ir::expr_equal(a, b)) return true;
  if (ca || cb || (ir::isa<ir::Var>(a) && ir::isa<ir::Var>(b))) return false;
  return ir::Analyzer(ctx).prove_equal(a, b);
}

bool different_dim(ir::Context& ctx, const Expr* a, const Expr* b) {
  auto ca = ir::const_int(a);
  auto cb = ir::const_int(b);
  if (ca && cb) return *ca != *cb;
  // A variable may be any number, or equal to another one.
  const bool plain_a = ca || ir::isa<ir::Var>(a), plain_b = cb || ir::isa<ir::Var>(b);
  if (a == b || (plain_a && plain_b)) return false;
  return ir::Analyzer(ctx).prove_different(a, b);
}

const Expr* simplify(ir::Context& ctx, const Expr* e) {
  if (ir::isa<ir::IntImm>(e) || ir::isa<ir::Var>(e)) return e;
  ir::Analyzer ana(ctx);
  std::vector<const ir::Var*> vars;
  ir::collect_vars(e, vars);
  for (const ir::Var* v : vars) ana.mark_non_negative(v);
  return ana.simplify(e);
}

Dims dims_of(const TensorType* t) { return {t->shape.begin(), t->shape.end()}; }

const TensorType* make_tensor(ir::Context& ctx, const Dims& shape, DType dtype, const TensorType* like) {
  return ctx.tensor(shape, dtype, like ? like->vdevice : nullptr);
}
const TensorType* make_ndim(ir::Context& ctx, int ndim, DType dtype, const TensorType* like) {
  return ctx.tensor_ndim(ndim, dtype, like ? like->vdevice : nullptr);
}
const TensorType* make_tensor_or_ndim(ir::Context& ctx, const std::optional<Dims>& shape, int ndim, DType dtype,
                                      const TensorType* like) {
  return shape ? make_tensor(ctx, *shape, dtype, like) : make_ndim(ctx, ndim, dtype, like);
}
const TensorType* make_shaped(ir::Context& ctx, const Expr* shape, DType dtype, const ir::VDevice* vdevice) {
  if (const auto* s = ir::as<ir::ShapeExpr>(shape)) return ctx.tensor(s->values, dtype, vdevice);
  const auto* t = ir::as<ir::ShapeType>(shape->type);
  const int ndim = t ? t->ndim : ir::kUnknownNdim;
  if (ir::isa<ir::Var>(shape)) return ctx.tensor_of(shape, ndim, dtype, vdevice);
  if (t && t->has_values) return ctx.tensor(t->values, dtype, vdevice);
  return ctx.tensor_ndim(ndim, dtype, vdevice);
}
const TensorType* with_dtype(ir::Context& ctx, const TensorType* t, DType dtype) {
  if (t->dtype == dtype) return t;
  if (t->has_shape) return ctx.tensor(t->shape, dtype, t->vdevice);
  if (t->shape_var) return ctx.tensor_of(t->shape_var, t->ndim, dtype, t->vdevice);
  return ctx.tensor_ndim(t->ndim, dtype, t->vdevice);
}

const TensorType* on_device(ir::Context& ctx, const TensorType* t, const ir::VDevice* vdevice) {
  if (t->vdevice == vdevice) return t;
  if (t->has_shape) return ctx.tensor(t->shape, t->dtype, vdevice);
  if (t->shape_var) return ctx.tensor_of(t->shape_var, t->ndim, t->dtype, vdevice);
  return ctx.tensor_ndim(t->ndim, t->dtype, vdevice);
}
const TensorType* with_shape_of(ir::Context& ctx, const TensorType* t, const TensorType* like) {
  return on_device(ctx, with_dtype(ctx, t, like->dtype), like->vdevice);
}

Result<DType> common_dtype(const OpInfo& info, const std::vector<const TensorType*>& types) {
  DType out = DType::Void();
  bool unknown = false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i]) continue;
    const DType t = types[i]->dtype;
    unknown = unknown || t.is_void();
    if (!out.is_void() && !t.is_void() && out != t)
      return type_error(info, "the inputs must have the same dtype, found " + to_string(out) + " and " + to_string(t),
                        int(i));
    if (!t.is_void()) out = t;
  }
  return unknown ? DType::Void() : out;
}

const TensorType* on_common_device(const std::vector<const TensorType*>& types) {
  const TensorType* out = nullptr;
  for (const TensorType* t : types) {
    if (!t || !t->vdevice) continue;
    if (out && !ir::same_device(out->vdevice, t->vdevice)) return nullptr;
    if (!out) out = t;
  }
  return out;
}

Result<const TensorType*> on_equal_device(const OpInfo& info, const std::vector<const TensorType*>& types) {
  const TensorType* out = nullptr;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorType* t = types[i];
    if (!t || !t->vdevice) continue;
    if (out && !ir::same_device(out->vdevice, t->vdevice)) {
      auto name = [](const ir::VDevice* v) {
        return std::string(v->target_kind) + ":" + std::to_string(v->device_id) + ":" + std::string(v->memory_scope);
      };
      return type_error(info,
                        "the inputs are on different devices: VDevice " + name(out->vdevice) + " and " +
                            name(t->vdevice) + " must be equal",
                        int(i));
    }
    if (!out) out = t;
  }
  return out;
}

std::string shape_text(std::span<const Expr* const> dims) {
  std::string out = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + ir::print_expr(dims[i]);
  return out + (dims.size() == 1 ? ",)" : ")");
}

Result<std::optional<Dims>> broadcast_dims(ir::Context& ctx, const OpInfo& info, const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  std::size_t extra = longer.size() - shorter.size();
  Dims out(longer.begin(), longer.begin() + std::ptrdiff_t(extra));
  bool known = true;
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Expr* x = longer[extra + i];
    const Expr* y = shorter[i];
    if (is_one(x))
      out.push_back(y);
    else if (is_one(y) || same_dim(ctx, x, y))
      out.push_back(x);
    else if (ir::isa<ir::IntImm>(x) && ir::isa<ir::IntImm>(y))
      return type_error(info, "the shapes do not broadcast: the first input shape at dim " +
                                  std::to_string(&a == &longer ? extra + i : i) + " is " +
                                  ir::print_expr(&a == &longer ? x : y) + " and the second input shape at dim " +
                                  std::to_string(&a == &longer ? i : extra + i) + " is " +
                                  ir::print_expr(&a == &longer ? y : x) + ", which are not broadcastable");
    else
      known = false;
  }
  if (!known) return std::optional<Dims>();
  return std::optional<Dims>(std::move(out));
}

namespace {

// Proved relations of an index to an extent, with shape variables >= 0.
struct Prover {
  ir::Context& ctx;
  ir::Analyzer ana;
  explicit Prover(ir::Context& c, std::initializer_list<const Expr*> exprs) : ctx(c), ana(c) {
    std::vector<const ir::Var*> vars;
    for (const Expr* e : exprs) ir::collect_vars(e, vars);
    for (const ir::Var* v : vars) ana.mark_non_negative(v);
  }
  bool le(const Expr* a, const Expr* b) { return ana.prove(ir::compare(ctx, ir::BinaryKind::LE, a, b)); }
};

// A literal beyond every extent, as the smallest integer where a slice goes to the end, is made smaller: sums with it
// must not wrap.
const Expr* within_reach(ir::Context& ctx, const Expr* index) {
  constexpr std::int64_t kFar = std::int64_t(1) << 62;
  const auto* literal = as<ir::IntImm>(index);
  if (!literal || (literal->value >= -kFar && literal->value <= kFar)) return index;
  return ctx.int_imm(index->dtype(), literal->value < 0 ? -kFar : kFar);
}

const Expr* clamp_index(ir::Context& ctx, const Expr* index, const Expr* extent, std::int64_t stride) {
  index = within_reach(ctx, index);
  Prover p(ctx, {index, extent});
  const Expr* zero = ctx.i64(0);
  const Expr* low = stride < 0 ? static_cast<const Expr*>(ctx.i64(-1)) : zero;
  const Expr* high = stride < 0 ? ir::sub(ctx, extent, ctx.i64(1)) : extent;
  if (!p.le(zero, index)) {
    if (p.le(index, ctx.i64(-1)))
      index = ir::add(ctx, index, extent);
    else
      index = ctx.intrin(index->dtype(), ir::intrin::IfThenElse,
                         {ir::compare(ctx, ir::BinaryKind::LT, index, zero), ir::add(ctx, index, extent), index});
    index = p.ana.simplify(index);
  }
  if (!p.le(low, index)) index = ir::max(ctx, index, low);
  if (!p.le(index, high)) index = ir::min(ctx, index, high);
  return p.ana.simplify(index);
}

}  // namespace

const Expr* slice_begin(ir::Context& ctx, const Expr* begin, const Expr* stride, const Expr* extent,
                        bool assume_inbound) {
  auto s = ir::const_int(stride);
  if (assume_inbound || !s) return begin;
  return clamp_index(ctx, begin, extent, *s);
}

const Expr* slice_length(ir::Context& ctx, const Expr* begin, const Expr* end, const Expr* stride, const Expr* extent,
                         bool assume_inbound) {
  auto s = ir::const_int(stride);
  if (!s || *s == 0) return nullptr;
  Prover ends(ctx, {begin, end, extent});
  // From the first end on to the second, counted from the same side, the clamped ones are in order, too.
  const auto is_ordered = [&](const Expr* first, const Expr* last) {
    return ends.le(first, last) && (ends.le(ctx.i64(0), first) || ends.le(last, ctx.i64(-1)));
  };
  const bool in_order = assume_inbound || (*s < 0 ? is_ordered(end, begin) : is_ordered(begin, end));
  // Both ends counted from the same side: empty for any extent.
  const auto from = ir::const_int(begin), to = ir::const_int(end);
  if (from && to && (*from < 0) == (*to < 0) && (*s < 0 ? *from <= *to : *to <= *from)) return ctx.i64(0);
  if (!assume_inbound) {
    begin = clamp_index(ctx, begin, extent, *s);
    end = clamp_index(ctx, end, extent, *s);
  }
  std::int64_t step = *s < 0 ? -*s : *s;
  const Expr* span = *s < 0 ? ir::sub(ctx, begin, end) : ir::sub(ctx, end, begin);
  auto known = ir::const_int(span);
  if (known && *known <= 0) return ctx.i64(0);
  const Expr* length = step == 1 ? span : ir::floor_div(ctx, ir::add(ctx, span, ctx.i64(step - 1)), ctx.i64(step));
  length = simplify(ctx, length);
  // TVM's has no lower limit: an end before the beginning would give a negative size.
  Prover p(ctx, {length});
  return in_order || p.le(ctx.i64(0), length) ? length : p.ana.simplify(ir::max(ctx, length, ctx.i64(0)));
}

}  // namespace rldb::ops
