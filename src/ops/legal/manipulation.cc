// Legalisation: change of shape and movement of data. Gathers and scatters are in legal/indexing.cc.
#include <algorithm>

#include "ops/legal/util.h"
#include "rldb/ir/op_attr/axis_attr.h"
#include "rldb/ir/op_attr/axis_role_attr.h"
#include "rldb/ir/op_attr/index_attr.h"
#include "rldb/ir/op_attr/nn_attr.h"
#include "rldb/ir/op_attr/pad_attr.h"
#include "rldb/ir/walk.h"

namespace rldb::ops::legal {

Result<const Expr*> broadcast_to(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("broadcast_to", c->args.first(1), c->type, [&](Te& te) -> Tensors {
    ExprList shape = mapped(te, out->shape);
    return {te.graph.compute(
        shape, [&](Indices i) { return Topi(te).at(te.in[0], topi::vars(i), shape); }, "T_broadcast_to")};
  });
}

Result<const Expr*> concat(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  int axis = attr_is_none(spec(c), op_attr::Axis) ? 0 : axis_of(attr_int(spec(c), op_attr::Axis), out->ndim);
  return l.call_te("concatenate", c->args, c->type, [&](Te& te) -> Tensors { return {Topi(te).concat(te.in, axis)}; });
}

Result<const Expr*> stack(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), out->ndim));
  return l.call_te("stack", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          idx.erase(idx.begin() + std::ptrdiff_t(axis));
          const auto element = [&](Tensor in) { return te.graph.load(in, std::span<const Expr* const>(idx)); };
          const Expr* value = element(te.in[0]);
          for (std::size_t k = 1; k < te.in.size(); ++k)
            value = t.if_else(t.eq(i[axis], t.i64(std::int64_t(k))), element(te.in[k]), value);
          return value;
        },
        "T_stack")};
  });
}

Result<const Expr*> expand_dims(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  auto axes = axes_of(*attr_ints(spec(c), op_attr::Axis), out->ndim);
  return l.call_te("expand_dims", c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).expand_dims(te.in[0], axes)}; });
}

Result<const Expr*> squeeze(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::vector<int> axes;
  if (auto given = attr_ints(spec(c), op_attr::Axis)) {
    axes = axes_of(*given, x->ndim);
  } else {
    for (int i = 0; i < x->ndim; ++i)
      if (is_one(x->shape[std::size_t(i)])) axes.push_back(i);
  }
  return l.call_te("squeeze", c->args, c->type, [&](Te& te) -> Tensors { return {Topi(te).squeeze(te.in[0], axes)}; });
}

// reshape, flatten and batch_flatten are one function.
namespace {
Result<const Expr*> reshape_to(Legalizer& l, const ir::Call* c, const Dims& shape) {
  const Type* out = l.context().tensor(shape, tensor_type(c->args[0])->dtype, tensor_type(c->args[0])->vdevice);
  return l.call_te("reshape", c->args.first(1), out,
                   [&](Te& te) -> Tensors { return {Topi(te).reshape(te.in[0], mapped(te, shape))}; });
}
}  // namespace

Result<const Expr*> reshape(Legalizer& l, const ir::Call* c) {
  const auto* out = ir::as<TensorType>(c->type);
  if (out && out->has_shape) return reshape_to(l, c, dims_of(out));
  // A shape known at run time only: a match_cast names its dims.
  const auto* s = ir::as<ir::ShapeType>(c->args[1]->type);
  if (!s || s->ndim == ir::kUnknownNdim) return refuse(c, "the rank of the target shape is not known");
  Dims dims;
  for (int i = 0; i < s->ndim; ++i)
    dims.push_back(l.context().var(l.blocks().unique_name("s" + std::to_string(i)), l.context().int64()));
  l.blocks().emit_match_cast(c->args[1], l.context().shape_type(dims));
  return reshape_to(l, c, dims);
}

Result<const Expr*> flatten(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return reshape_to(l, c, dims_of(out));
}

Result<const Expr*> permute_dims(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::vector<int> order;
  if (auto axes = attr_ints(spec(c), op_attr::Axes))
    order = axes_of(*axes, x->ndim);
  else
    for (int i = x->ndim; i-- > 0;) order.push_back(i);
  return l.call_te("transpose", c->args, c->type,
                   [&](Te& te) -> Tensors { return {Topi(te).transpose(te.in[0], order)}; });
}

namespace {

// The lengths of `count` sections of an axis whose length is not known, written as in TVM: loops use the simplified
// form, types the original one.
ExprList section_lengths(ir::Context& ctx, const Expr* length, std::int64_t count) {
  using enum ir::BinaryKind;
  const Expr* parts = ctx.i64(count);
  const Expr* most = ctx.binary(FloorDiv, ctx.binary(Sub, ctx.binary(Add, length, parts), ctx.i64(1)), parts);
  const auto begin = [&](std::int64_t k) { return k == 1 ? most : ctx.binary(Mul, most, ctx.i64(k)); };
  ExprList out{most};
  for (std::int64_t k = 1; k < count; ++k)
    out.push_back(ctx.binary(Sub, k + 1 < count ? begin(k + 1) : length, begin(k)));
  return out;
}

}  // namespace

Result<const Expr*> split(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  const auto* tuple = ir::as<ir::TupleType>(c->type);
  for (const Type* f : tuple->fields)
    if (const auto* t = ir::as<TensorType>(f); !t || !t->has_shape)
      return refuse(c, "the shapes of the pieces are not known");
  bool sections = !ir::find_attr(c->attrs, op_attr::IndicesOrSections)->is(ir::AttrKind::List);
  const auto extent = ir::const_int(x->shape[axis]);
  // Where the pieces begin; indices need not ascend. Sections follow each other.
  std::vector<std::int64_t> begins;
  if (!sections) begins = *attr_ints(spec(c), op_attr::IndicesOrSections);
  for (std::int64_t& begin : begins) begin = std::clamp<std::int64_t>(begin, 0, extent.value_or(INT64_MAX));
  const bool own_lengths =
      sections && !extent && tuple->fields.size() > 1 && tuple->fields.size() < Legalizer::kMaxTensors && !x->vdevice;
  const ExprList lengths =
      own_lengths ? section_lengths(l.context(), x->shape[axis], std::int64_t(tuple->fields.size())) : ExprList{};
  return l.call_te("split", c->args, own_lengths ? nullptr : c->type, [&](Te& te) -> Tensors {
    Tensors out;
    const Expr* start = te.ctx.i64(0);
    for (std::size_t k = 0; k < tuple->fields.size(); ++k) {
      ExprList shape = mapped(te, ir::as<TensorType>(tuple->fields[k])->shape);
      if (own_lengths) shape[axis] = te.map(lengths[k]);
      const Expr* from = start;
      std::string name = sections ? "T_split_sections" : "T_split";
      out.push_back(te.graph.compute(
          shape,
          [&](Indices i) {
            ExprList idx = topi::vars(i);
            idx[axis] = ir::add(te.ctx, idx[axis], from);
            return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
          },
          name));
      if (sections)
        start = simplify(te.ctx, ir::add(te.ctx, start, shape[axis]));
      else if (k < begins.size())
        start = te.ctx.i64(begins[k]);
    }
    return out;
  });
}

Result<const Expr*> repeat(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  RLDB_TRY_VOID(known_result(c));
  std::int64_t n = attr_int(spec(c), op_attr::Repeats);
  bool flat = attr_is_none(spec(c), op_attr::Axis);
  std::size_t axis = flat ? 0 : std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  return l.call_te("repeat", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    if (flat) in = t.reshape(in, {simplify(te.ctx, ir::product(te.ctx, in->shape))});
    ExprList shape = topi::shape_list(in);
    // The factor comes first, as in TVM.
    shape[axis] = ir::mul(te.ctx, t.i64(n), shape[axis]);
    return {te.graph.compute(
        shape,
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          idx[axis] = ir::floor_div(te.ctx, idx[axis], t.i64(n));
          return te.graph.load(in, std::span<const Expr* const>(idx));
        },
        "T_repeat")};
  });
}

Result<const Expr*> tile(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  return l.call_te("tile", c->args, c->type, [&](Te& te) -> Tensors {
    Tensor x = te.in[0];
    std::size_t extra = out->shape.size() - x->shape.size();
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx;
          for (std::size_t k = 0; k < x->shape.size(); ++k)
            idx.push_back(ir::floor_mod(te.ctx, i[k + extra], x->shape[k]));
          return te.graph.load(x, std::span<const Expr* const>(idx));
        },
        "T_tile")};
  });
}

Result<const Expr*> flip(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t axis = std::size_t(axis_of(attr_int(spec(c), op_attr::Axis), x->ndim));
  return l.call_te("flip", c->args, c->type, [&](Te& te) -> Tensors {
    Tensor in = te.in[0];
    return {te.graph.compute(
        in->shape,
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          idx[axis] = ir::sub(te.ctx, ir::sub(te.ctx, in->shape[axis], i[axis]), te.ctx.i64(1));
          return te.graph.load(in, std::span<const Expr* const>(idx));
        },
        "T_reverse_sequence")};
  });
}

Result<const Expr*> reverse_sequence(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  std::size_t seq = std::size_t(axis_of(attr_int(spec(c), op_attr::SeqAxis), x->ndim));
  std::size_t batch = std::size_t(axis_of(attr_int(spec(c), op_attr::BatchAxis), x->ndim));
  return l.call_te("reverse_sequence", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    return {te.graph.compute(
        in->shape,
        [&](Indices i) {
          const Expr* len = te.graph.load(te.in[1], {i[batch]});
          len = ir::cast_to(te.ctx, DType::Int(64), len);
          const Expr* whole = in->shape[seq];
          ExprList idx = topi::vars(i);
          const Expr* inside = ir::sub(te.ctx, ir::sub(te.ctx, len, i[seq]), t.i64(1));
          const Expr* beyond = ir::sub(te.ctx, ir::sub(te.ctx, whole, t.i64(1)), i[seq]);
          const Expr* keep = ir::logical_or(te.ctx, t.le(len, t.i64(1)), t.le(len, i[seq]));
          idx[seq] = t.if_else(keep, i[seq], t.if_else(t.lt(whole, len), beyond, inside));
          return te.graph.load(in, std::span<const Expr* const>(idx));
        },
        "T_reverse_sequence")};
  });
}

Result<const Expr*> meshgrid(Legalizer& l, const ir::Call* c) {
  const auto* tuple = ir::as<ir::TupleType>(c->type);
  const auto* first = ir::as<TensorType>(tuple->fields[0]);
  if (!first->has_shape) return refuse(c, "the shapes of the tensors are not known");
  bool swap = !attr_is_none(spec(c), op_attr::Indexing) && attr_string(spec(c), op_attr::Indexing) == "xy" &&
              tuple->fields.size() > 1;
  return l.call_te("meshgrid", c->args, c->type, [&](Te& te) -> Tensors {
    ExprList shape = mapped(te, first->shape);
    Tensors out;
    for (std::size_t k = 0; k < te.in.size(); ++k) {
      std::size_t at = swap && k < 2 ? 1 - k : k;
      out.push_back(te.graph.compute(
          shape, [&](Indices i) { return te.graph.load(te.in[k], {i[at]}); }, "T_meshgrid"));
    }
    return out;
  });
}

Result<const Expr*> pixel_shuffle(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* out, known_result(c));
  std::int64_t r = attr_int(spec(c), op_attr::UpscaleFactor);
  return l.call_te("pixel_shuffle", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    std::size_t n = out->shape.size();
    return {te.graph.compute(
        mapped(te, out->shape),
        [&](Indices i) {
          ExprList idx = topi::vars(i);
          const Expr* rr = t.i64(r);
          const Expr* inner = ir::add(te.ctx, ir::mul(te.ctx, ir::floor_mod(te.ctx, i[n - 2], rr), rr),
                                      ir::floor_mod(te.ctx, i[n - 1], rr));
          idx[n - 3] = ir::add(te.ctx, ir::mul(te.ctx, i[n - 3], t.i64(r * r)), inner);
          idx[n - 2] = ir::floor_div(te.ctx, i[n - 2], rr);
          idx[n - 1] = ir::floor_div(te.ctx, i[n - 1], rr);
          return te.graph.load(te.in[0], std::span<const Expr* const>(idx));
        },
        "T_pixel_shuffle")};
  });
}

Result<const Expr*> pad(Legalizer& l, const ir::Call* c) {
  auto widths = *attr_ints(spec(c), op_attr::PadWidth);
  std::string_view mode = attr_string(spec(c), op_attr::PadMode);
  double value = attr_float(spec(c), op_attr::PadValue);
  const bool nearest = mode == "replicate" || mode == "edge";  // two names of one mode
  if (mode != "constant" && mode != "reflect" && !nearest && mode != "circular")
    return refuse(c, "the mode \"" + std::string(mode) + "\" is not lowered");
  return l.call_te("pad", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor x = te.in[0];
    ExprList before;
    ExprList after;
    for (std::size_t i = 0; i + 1 < widths.size(); i += 2) {
      before.push_back(t.i64(widths[i]));
      after.push_back(t.i64(widths[i + 1]));
    }
    if (mode == "constant") return {t.pad(x, before, after, t.lit(x->dtype, value), "PadInput")};
    ExprList shape;
    for (std::size_t i = 0; i < before.size(); ++i)
      shape.push_back(simplify(te.ctx, ir::add(te.ctx, ir::add(te.ctx, x->shape[i], before[i]), after[i])));
    return {te.graph.compute(
        shape,
        [&](Indices i) {
          ExprList idx;
          for (std::size_t k = 0; k < before.size(); ++k) {
            const Expr* e = ir::sub(te.ctx, i[k], before[k]);
            const Expr* n = x->shape[k];
            const Expr* last = ir::sub(te.ctx, n, t.i64(1));
            if (mode == "circular") {
              idx.push_back(ir::floor_mod(te.ctx, e, n));
              continue;
            }
            const Expr* below = nearest ? t.i64(0) : ir::sub(te.ctx, t.i64(0), e);
            const Expr* above = nearest ? last : ir::sub(te.ctx, ir::mul(te.ctx, last, t.i64(2)), e);
            idx.push_back(t.if_else(t.lt(e, t.i64(0)), below, t.if_else(t.le(n, e), above, e)));
          }
          return te.graph.load(x, std::span<const Expr* const>(idx));
        },
        "PadInput")};
  });
}

Result<const Expr*> identity(Legalizer& l, const ir::Call* c) {
  (void)l;
  return c->args[0];
}

Result<const Expr*> dropout(Legalizer& l, const ir::Call* c) {
  RLDB_TRY(const TensorType* x, known_arg(c, 0));
  (void)x;
  return l.call_te("dropout", c->args, c->type, [&](Te& te) -> Tensors {
    Topi t(te);
    Tensor in = te.in[0];
    Tensor copy = te.graph.compute(
        in->shape, [&](Indices i) { return te.graph.load(in, i); }, "T_identity");
    return {copy, t.full(topi::shape_list(in), t.lit(in->dtype, 1))};
  });
}

}  // namespace rldb::ops::legal
