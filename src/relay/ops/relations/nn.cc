// Layers: products, normalisations, padding, losses.
#include <fmt/format.h>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"

namespace rldb::relay::relations {

namespace {

// Do two dims agree, as far as they are known?
bool agree(const Dim& a, const Dim& b) { return !is_known(a) || !is_known(b) || a.value == b.value; }

Outcome different(std::string_view what, const Dim& a, const Dim& b) {
  return Outcome::error(fmt::format("{} {} and {} differ", what, a.value, b.value));
}

DType result_dtype(const Operands& o) { return o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype); }

// Rank and last axis of an operand of a product.
std::optional<Outcome> need_rank(const Operands& o, std::size_t i, std::size_t least, std::size_t most) {
  const std::size_t rank = o.tensor(i)->shape.size();
  if (rank >= least && rank <= most) return std::nullopt;
  return Outcome::error(fmt::format("operand {} has rank {}, but {} is expected", i + 1, rank,
                                    least == most ? std::to_string(least) : fmt::format("at least {}", least)));
}
constexpr std::size_t kAnyRank = ~std::size_t(0);

// Gives this type to an operand whose type is not specified.
void give_type(const Operands& o, std::size_t i, const Dims& dims) {
  if (i < o.types.size() && o.types[i]->kind == TypeKind::Hole)
    o.solver.unify(o.types[i], o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// Operands after the first hold one value for each position of an axis.
std::optional<Outcome> need_vectors(const Operands& o, std::size_t axis) {
  for (std::size_t i = 1; i < o.types.size(); ++i) give_type(o, i, {o.tensor(0)->shape[axis]});
  if (auto early = o.need_tensors(o.types.size())) return *early;
  for (std::size_t i = 1; i < o.types.size(); ++i) {
    if (auto wrong = need_rank(o, i, 1, 1)) return wrong;
    if (!agree(o.tensor(i)->shape[0], o.tensor(0)->shape[axis]))
      return different("the axis and its parameters:", o.tensor(0)->shape[axis], o.tensor(i)->shape[0]);
  }
  return std::nullopt;
}

std::optional<Outcome> axis_with_vectors(const Operands& o, std::size_t& axis) {
  const auto found = axis_of(o.integer(relay::field::Axis).value_or(1), o.tensor(0)->shape.size());
  if (!found) return Outcome::error(out_of_range(o.integer(relay::field::Axis).value_or(1), o.tensor(0)->shape.size()));
  axis = *found;
  return need_vectors(o, axis);
}

}  // namespace

Outcome BiasAdd(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  std::size_t axis = 0;
  if (auto wrong = axis_with_vectors(o, axis)) return *wrong;
  return Outcome::of(o.types[0]);
}

Outcome PRelu(const Operands& o) { return BiasAdd(o); }

Outcome Softmax(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto axis = o.integer(relay::field::Axis).value_or(-1);
  if (!axis_of(axis, o.tensor(0)->shape.size())) return Outcome::error(out_of_range(axis, o.tensor(0)->shape.size()));
  return Outcome::of(o.types[0]);
}

Outcome Dense(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = need_rank(o, 0, 1, kAnyRank)) return *wrong;
  if (const auto units = o.integer(relay::field::Units)) give_type(o, 1, {known(*units), dims_of(*o.tensor(0)).back()});
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = need_rank(o, 1, 2, 2)) return *wrong;
  Dims dims = dims_of(*o.tensor(0));
  const Dim units = o.integer(relay::field::Units) ? known(*o.integer(relay::field::Units)) : o.tensor(1)->shape[0];
  if (!agree(dims.back(), o.tensor(1)->shape[1]))
    return different("the inner dims", dims.back(), o.tensor(1)->shape[1]);
  if (!agree(units, o.tensor(1)->shape[0]))
    return different("units and rows of the weight:", units, o.tensor(1)->shape[0]);
  dims.back() = units;
  return Outcome::of(o.ctx.tensor(dims, result_dtype(o)));
}

// The weight is blocked by rows: (blocks, inner dim, rows of a block).
Outcome DensePack(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = need_rank(o, 0, 2, 2)) return *wrong;
  if (auto wrong = need_rank(o, 1, 3, 3)) return *wrong;
  const auto& weight = o.tensor(1)->shape;
  if (!agree(o.tensor(0)->shape[1], weight[1])) return different("the inner dims", o.tensor(0)->shape[1], weight[1]);
  const Dims dims{o.tensor(0)->shape[0], times(weight[0], weight[2])};
  return Outcome::of(o.ctx.tensor(dims, result_dtype(o)));
}

Outcome Matmul(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (auto wrong = need_rank(o, 0, 1, kAnyRank)) return *wrong;
  if (auto wrong = need_rank(o, 1, 2, 2)) return *wrong;
  Dims dims = dims_of(*o.tensor(0));
  if (o.flag(relay::field::TransposeA) && dims.size() > 1) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  Dims weight = dims_of(*o.tensor(1));
  if (o.flag(relay::field::TransposeB)) std::swap(weight[0], weight[1]);
  if (!agree(dims.back(), weight[0])) return different("the inner dims", dims.back(), weight[0]);
  dims.back() = weight[1];
  return Outcome::of(o.ctx.tensor(dims, result_dtype(o)));
}

Outcome BatchMatmul(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  for (const std::size_t i : {std::size_t(0), std::size_t(1)})
    if (auto wrong = need_rank(o, i, 3, 3)) return *wrong;
  Dims a = dims_of(*o.tensor(0)), b = dims_of(*o.tensor(1));
  if (o.flag(relay::field::TransposeA)) std::swap(a[1], a[2]);
  if (o.flag(relay::field::TransposeB)) std::swap(b[1], b[2]);
  if (!agree(a[2], b[1])) return different("the inner dims", a[2], b[1]);
  const auto batch = broadcast(a[0], b[0]);
  if (!batch) return different("the batches", a[0], b[0]);
  return Outcome::of(o.ctx.tensor(Dims{*batch, a[1], b[2]}, result_dtype(o)));
}

Outcome BatchNorm(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  std::size_t axis = 0;
  if (auto wrong = axis_with_vectors(o, axis)) return *wrong;
  const std::vector<const Type*> fields{o.types[0], o.types[3], o.types[4]};
  return Outcome::of(o.ctx.tuple_type(fields));
}

Outcome Norm(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  std::size_t axis = 0;
  if (auto wrong = axis_with_vectors(o, axis)) return *wrong;
  return Outcome::of(o.types[0]);
}

Outcome Dropout(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const std::vector<const Type*> fields{o.types[0], o.types[0]};
  return Outcome::of(o.ctx.tuple_type(fields));
}

namespace {

Outcome padded(const Operands& o) {
  const AttrValue* widths = o.attr(relay::field::PadWidth);
  Dims dims = dims_of(*o.tensor(0));
  if (!widths || widths->items.size() != dims.size())
    return Outcome::error(fmt::format("pad_width has a pair for each of the {} axes", dims.size()));
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const AttrValue* pair = widths->items[i];
    if (pair->items.size() != 2) return Outcome::error("pad_width is a list of pairs");
    if (pair->items[0]->kind != AttrKind::Int || pair->items[1]->kind != AttrKind::Int) dims[i] = Dim{};
    if (!is_known(dims[i])) continue;
    dims[i].value += pair->items[0]->integer + pair->items[1]->integer;
    if (dims[i].value < 0) return Outcome::error(fmt::format("axis {} would have fewer than no elements", i));
  }
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

}  // namespace

Outcome Pad(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return padded(o);
}

Outcome MirrorPad(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return padded(o);
}

Outcome BatchFlatten(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  if (auto wrong = need_rank(o, 0, 1, kAnyRank)) return *wrong;
  const Dims dims = dims_of(*o.tensor(0));
  Dim rest = known(1);
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (!is_known(dims[i]) || !is_known(rest) || __builtin_mul_overflow(rest.value, dims[i].value, &rest.value))
      rest = Dim{};
  }
  return Outcome::of(o.ctx.tensor(Dims{dims[0], rest}, o.tensor(0)->dtype));
}

Outcome CrossEntropy(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  for (const std::size_t i : {std::size_t(0), std::size_t(1)})
    if (auto wrong = need_rank(o, i, 2, 2)) return *wrong;
  return Outcome::of(o.ctx.tensor({}, o.tensor(0)->dtype));
}

Outcome NllLoss(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  if (o.string(relay::field::Reduction) == "none")
    return Outcome::of(o.ctx.tensor(o.tensor(1)->shape, o.tensor(0)->dtype));
  return Outcome::of(o.ctx.tensor({}, o.tensor(0)->dtype));
}

}  // namespace rldb::relay::relations
