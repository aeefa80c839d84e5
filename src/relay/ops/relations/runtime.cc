// Operators whose result depends on values, and those of the machine's dialect.
#include <fmt/format.h>

#include "relay/ops/relations/relations.h"
#include "rldb/relay/ir/field.h"
#include "rldb/support/text.h"

namespace rldb::relay::relations {

namespace {

// A rank-1 operand determines the rank of the result, when its length is known.
std::optional<Dims> open_dims(const TensorType& shape) {
  constexpr std::int64_t kMaxRank = 64;
  if (shape.shape.size() != 1 || !is_known(shape.shape[0]) || shape.shape[0].value > kMaxRank) return std::nullopt;
  return Dims(std::size_t(shape.shape[0].value));
}
Outcome unknown_rank() { return Outcome::error("the shape is a tensor of rank 1, whose length is known"); }

Outcome of_shape(const Operands& o, std::size_t i, DType dtype) {
  const auto dims = open_dims(*o.tensor(i));
  return dims ? Outcome::of(o.ctx.tensor(*dims, dtype)) : unknown_rank();
}

Dim rank_of(const TensorType& t) { return known(std::int64_t(t.shape.size())); }

}  // namespace

Outcome ShapeOf(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(Dims{rank_of(*o.tensor(0))}, o.dtype(relay::field::Dtype).value_or(DType::Int(32))));
}

Outcome VmShapeOf(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(Dims{rank_of(*o.tensor(0))}, o.dtype(relay::field::Dtype).value_or(DType::Int(64))));
}

Outcome NdarraySize(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.scalar(o.dtype(relay::field::Dtype).value_or(DType::Int(32))));
}

Outcome DynReshape(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return of_shape(o, 1, o.tensor(0)->dtype);
}

Outcome DynBroadcastTo(const Operands& o) { return DynReshape(o); }

Outcome DynFull(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return of_shape(o, 1, o.dtype(relay::field::Dtype).value_or(o.tensor(0)->dtype));
}

Outcome DynInit(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return of_shape(o, 0, o.dtype(relay::field::Dtype).value_or(DType::Float(32)));
}

Outcome DynTile(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const auto reps = open_dims(*o.tensor(1));
  if (!reps) return unknown_rank();
  return Outcome::of(o.ctx.tensor(Dims(std::max(reps->size(), o.tensor(0)->shape.size())), o.tensor(0)->dtype));
}

// Like topk, with a number that is an operand.
Outcome DynTopk(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  const std::int64_t axis = o.integer(relay::field::Axis).value_or(-1);
  Dims dims = dims_of(*o.tensor(0));
  const auto at = axis_of(axis, dims.size());
  if (!at) return Outcome::error(out_of_range(axis, dims.size()));
  dims[*at] = Dim{};
  return sorted_out(o, dims);
}

Outcome DynImageResize(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const AttrValue* given = o.attr(relay::field::Layout);
  const std::string_view layout = given ? given->text : "NCHW";
  Dims dims = dims_of(*o.tensor(0));
  if (dims.size() != layout.size())
    return Outcome::error(fmt::format("the data has rank {}, and its layout is {}", dims.size(), layout));
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (layout[i] == 'H' || layout[i] == 'W') dims[i] = Dim{};
  return Outcome::of(o.ctx.tensor(dims, o.dtype(relay::field::OutDtype).value_or(o.tensor(0)->dtype)));
}

// Operands: positions, values, the value of all other positions, the shape.
Outcome DynSparseToDense(const Operands& o) {
  if (auto early = o.need_tensors(4)) return *early;
  return of_shape(o, 3, o.tensor(1)->dtype);
}

Outcome DynSameRank(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(Dims(o.tensor(0)->shape.size()), o.tensor(0)->dtype));
}

Outcome AllocStorage(const Operands& o) { return Outcome::of(o.ctx.named("Storage", {})); }

Outcome AllocTensor(const Operands& o) {
  const DType dtype = o.dtype(relay::field::Dtype).value_or(DType::Float(32));
  const AttrValue* dims = o.attr(relay::field::ConstShape);
  const auto* shape = dims && dims->kind == AttrKind::Expression ? as<Constant>(dims->expr) : nullptr;
  if (shape && shape->tensor->ndim() == 1) {
    Dims made;
    for (std::int64_t i = 0; i < shape->tensor->element_count(); ++i)
      made.push_back(known(std::int64_t(shape->tensor->at(i))));
    return Outcome::of(o.ctx.tensor(made, dtype));
  }
  return {};
}

Outcome VmReshapeTensor(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto sizes = o.ints(relay::field::Newshape);
  if (!sizes) return Outcome::error("the attribute `newshape` is a list of integers");
  Dims dims;
  for (const std::int64_t d : *sizes) dims.push_back(d < 0 ? Dim{} : known(d));
  return Outcome::of(o.ctx.tensor(dims, o.tensor(0)->dtype));
}

// The function's result; its operands are the fields of the tuple.
Outcome CallLowered(const Operands& o) {
  const auto* f = o.types.empty() ? nullptr : as<FunctionType>(o.types[0]);
  if (!f) return Outcome::wait();
  const Type* operands = o.types.size() > 1 ? o.types[1] : nullptr;
  const auto* packed = as<TupleType>(operands);
  if (!packed && operands && operands->kind != TypeKind::Hole)
    return Outcome::error("the operands of the function must be given as a tuple");
  if (!packed) return Outcome::wait();
  const FunctionType* plain = o.solver.instantiate(f);
  if (plain->params.size() != packed->fields.size())
    return Outcome::error(fmt::format("the function takes {}, but the tuple has {}",
                                      support::counted(plain->params.size(), "argument"), packed->fields.size()));
  for (std::size_t i = 0; i < packed->fields.size(); ++i)
    if (!o.solver.unify(plain->params[i], packed->fields[i]))
      return Outcome::error(fmt::format("argument {} has another type than the function's parameter", i + 1));
  return Outcome::of(plain->result);
}

}  // namespace rldb::relay::relations
