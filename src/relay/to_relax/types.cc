#include "relay/to_relax/types.h"

namespace rldb::to_relax {

namespace {

const ir::Type* tensor_type(ir::Context& ctx, const relay::TensorType& t, const OpenDim& open) {
  std::vector<const ir::Expr*> dims;
  for (const relay::Dim& d : t.shape) {
    const ir::Expr* dim = d.kind == relay::DimKind::Known ? ctx.i64(d.value) : open ? open() : nullptr;
    if (!dim) return ctx.tensor_ndim(int(t.shape.size()), t.dtype);
    dims.push_back(dim);
  }
  return ctx.tensor(dims, t.dtype);
}

}  // namespace

const ir::Type* Types::of(const relay::Type* t, const OpenDim& open) const {
  if (!t) return ctx_.any();
  switch (t->kind) {
    case relay::TypeKind::Tensor:
      return tensor_type(ctx_, *relay::as<relay::TensorType>(t), open);
    case relay::TypeKind::Tuple: {
      std::vector<const ir::Type*> fields;
      for (const relay::Type* f : relay::as<relay::TupleType>(t)->fields) fields.push_back(of(f, open));
      return ctx_.tuple_type(fields);
    }
    case relay::TypeKind::Function:
      return ctx_.opaque_func_type(ctx_.any(), pure_);
    case relay::TypeKind::Variable:
    case relay::TypeKind::Named:
    case relay::TypeKind::Reference:
    case relay::TypeKind::Hole:
      break;
  }
  return ctx_.any();
}

}  // namespace rldb::to_relax
