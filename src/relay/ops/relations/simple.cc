// Elementwise operators, and those that create tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "relay/ops/relation.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"
#include "rldb/relay/ir/printer.h"

namespace rldb::relay::relations {

namespace {

Outcome broadcast_as(const Operands& o, std::optional<DType> dtype) {
  if (auto early = o.need_tensors(2)) return *early;
  const TensorType &a = *o.tensor(0), &b = *o.tensor(1);
  if (a.dtype != b.dtype)
    return Outcome::error(fmt::format("the operands are `{}` and `{}`, and Relay converts none",
                                      runtime::to_string(a.dtype), runtime::to_string(b.dtype)));
  const auto dims = broadcast(a.shape, b.shape);
  if (!dims)
    return Outcome::error(
        fmt::format("the shapes {} and {} do not broadcast", shape_text(a.shape), shape_text(b.shape)));
  return Outcome::of(o.ctx.tensor(*dims, dtype.value_or(a.dtype)));
}

// The shape given by an attribute; an object of the metadata represents an unknown dim.
std::optional<Dims> shape_attr(const Operands& o, std::string_view name) {
  const AttrValue* v = o.attr(name);
  if (!v || v->kind != AttrKind::List) return std::nullopt;
  Dims dims;
  for (const AttrValue* item : v->items) dims.push_back(item->kind == AttrKind::Int ? known(item->integer) : Dim{});
  return dims;
}

std::optional<double> scalar_of(const Expr* e) {
  const auto* c = as<Constant>(e);
  return c && c->tensor->ndim() == 0 ? std::optional(c->tensor->at(0)) : std::nullopt;
}
std::optional<double> scalar_of(const AttrValue* v) {
  if (!v) return std::nullopt;
  if (v->kind == AttrKind::Int) return double(v->integer);
  if (v->kind == AttrKind::Float) return v->real;
  return v->kind == AttrKind::Expression ? scalar_of(v->expr) : std::nullopt;
}

}  // namespace

// The call is not constrained: its uses decide.
Outcome Any(const Operands&) { return {}; }

Outcome Unit(const Operands& o) { return Outcome::of(o.ctx.tuple_type({})); }

// The operand's type, known or not.
Outcome Identity(const Operands& o) {
  if (o.types.empty()) return Outcome::error("expected an operand");
  return Outcome::of(o.types[0]);
}

Outcome Like0(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.types[0]);
}

Outcome Like(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(1)->shape, o.tensor(0)->dtype));
}

Outcome Test(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, DType::Bool()));
}

Outcome Broadcast(const Operands& o) { return broadcast_as(o, std::nullopt); }
Outcome Compare(const Operands& o) { return broadcast_as(o, DType::Bool()); }

Outcome Where(const Operands& o) {
  if (auto early = o.need_tensors(3)) return *early;
  const TensorType &c = *o.tensor(0), &x = *o.tensor(1), &y = *o.tensor(2);
  if (x.dtype != y.dtype) return Outcome::error("both values are of one dtype");
  const auto values = broadcast(x.shape, y.shape);
  const auto dims = values ? broadcast(c.shape, *values) : std::nullopt;
  if (!dims)
    return Outcome::error(fmt::format("the shapes {}, {} and {} do not broadcast", shape_text(c.shape),
                                      shape_text(x.shape), shape_text(y.shape)));
  return Outcome::of(o.ctx.tensor(*dims, x.dtype));
}

Outcome Cast(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, o.dtype(relay::field::Dtype).value_or(o.tensor(0)->dtype)));
}

Outcome CastLike(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, o.tensor(1)->dtype));
}

Outcome FullLike(const Operands& o) {
  if (auto early = o.need_tensors(2)) return *early;
  if (!o.tensor(1)->shape.empty()) return Outcome::error("the value is a scalar");
  return Outcome::of(o.types[0]);
}

Outcome Full(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto dims = shape_attr(o, relay::field::Shape);
  if (!o.tensor(0)->shape.empty()) return Outcome::error("the value is a scalar");
  if (!dims) return Outcome::error("the attribute `shape` is a list");
  return Outcome::of(o.ctx.tensor(*dims, o.dtype(relay::field::Dtype).value_or(o.tensor(0)->dtype)));
}

Outcome Init(const Operands& o) {
  const auto dims = shape_attr(o, relay::field::Shape);
  const auto dtype = o.dtype(relay::field::Dtype);
  if (!dims || !dtype) return Outcome::error("the attributes `shape` and `dtype` say what to make");
  return Outcome::of(o.ctx.tensor(*dims, *dtype));
}

Outcome BroadcastTo(const Operands& o) {
  if (auto early = o.need_tensors(1)) return *early;
  const auto dims = shape_attr(o, relay::field::Shape);
  if (!dims) return Outcome::error("the attribute `shape` is a list");
  const bool collapses = o.op.id == op::CollapseSumTo;
  const auto wide = broadcast(o.tensor(0)->shape, *dims);
  if (!wide || wide->size() != (collapses ? o.tensor(0)->shape.size() : dims->size()))
    return Outcome::error(fmt::format("{} and {} do not broadcast", shape_text(o.tensor(0)->shape), shape_text(*dims)));
  return Outcome::of(o.ctx.tensor(*dims, o.tensor(0)->dtype));
}

Outcome Arange(const Operands& o) {
  const DType dtype = o.dtype(relay::field::Dtype).value_or(DType::Float(32));
  std::optional<double> parts[3];
  const std::string_view names[3] = {"start", "stop", "step"};
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = scalar_of(o.attr(names[i]));
    if (!parts[i] && i < o.call.args.size()) parts[i] = scalar_of(o.call.args[i]);
  }
  if (!parts[0] || !parts[1] || !parts[2]) return Outcome::of(o.ctx.tensor(Dims{Dim{}}, dtype));
  if (*parts[2] == 0) return Outcome::error("the step is 0");
  const double count = std::ceil((*parts[1] - *parts[0]) / *parts[2]);
  if (!(count <= 9e15)) return Outcome::error("there are too many steps");
  return Outcome::of(o.ctx.tensor(Dims{known(std::int64_t(std::max(count, 0.0)))}, dtype));
}

}  // namespace rldb::relay::relations
