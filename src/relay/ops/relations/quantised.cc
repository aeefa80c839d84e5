// Quantised operators, whose scales and zero points are operands after the data. They have the attributes of the
// operators whose quantised forms they are, of any dtype.
#include "relay/ops/relations/relations.h"
#include "rldb/relay/ir/field.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::relay::relations {

namespace {

Outcome with_dtype(const Operands& o, DType otherwise) {
  if (auto early = o.need_tensors(1)) return *early;
  return Outcome::of(o.ctx.tensor(o.tensor(0)->shape, o.dtype(relay::field::OutDtype).value_or(otherwise)));
}

// The result of `id` for the first two operands, as if they had the dtype in which sums are computed.
Outcome as_plain(const Operands& o, OpId id, Relation relation) {
  if (auto early = o.need_tensors(2)) return *early;
  const DType dtype = o.dtype(relay::field::OutDtype).value_or(DType::Int(32));
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < 2; ++i) types.push_back(o.ctx.tensor(o.tensor(i)->shape, dtype));
  return relation(Operands(o.ctx, o.solver, o.call, info(id), std::move(types)));
}

}  // namespace

Outcome QnnQuantize(const Operands& o) { return with_dtype(o, DType::Int(8)); }
Outcome QnnDequantize(const Operands& o) { return with_dtype(o, DType::Float(32)); }
Outcome QnnConv2d(const Operands& o) { return as_plain(o, op::NnConv2d, Conv); }
Outcome QnnDense(const Operands& o) { return as_plain(o, op::NnDense, Dense); }
Outcome QnnConv2dTranspose(const Operands& o) { return as_plain(o, op::NnConv2dTranspose, ConvTranspose); }
Outcome QnnBatchMatmul(const Operands& o) { return as_plain(o, op::NnBatchMatmul, BatchMatmul); }

Outcome QnnConcatenate(const Operands& o) {
  if (o.types.empty()) return Outcome::wait();
  return Concatenate(Operands(o.ctx, o.solver, o.call, info(op::Concatenate), {o.types[0]}));
}

}  // namespace rldb::relay::relations
