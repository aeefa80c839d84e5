#include "relay/to_relax/types.h"

#include <algorithm>

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

const ir::Type* relax_type(ir::Context& ctx, const relay::Type* t, const OpenDim& open) {
  if (!t) return ctx.any();
  switch (t->kind) {
    case relay::TypeKind::Tensor:
      return tensor_type(ctx, *relay::as<relay::TensorType>(t), open);
    case relay::TypeKind::Tuple: {
      std::vector<const ir::Type*> fields;
      for (const relay::Type* f : relay::as<relay::TupleType>(t)->fields) fields.push_back(relax_type(ctx, f, open));
      return ctx.tuple_type(fields);
    }
    case relay::TypeKind::Function:
      return ctx.opaque_func_type(ctx.any(), true);
    case relay::TypeKind::Variable:
    case relay::TypeKind::Named:
    case relay::TypeKind::Reference:
    case relay::TypeKind::Hole:
      break;
  }
  return ctx.any();
}

const ir::Type* closed_type(ir::Context& ctx, const relay::Type* t) { return relax_type(ctx, t, nullptr); }

bool mentions_reference(const relay::Type* t) {
  if (!t) return false;
  const auto any_of = [](const auto& types) { return std::any_of(types.begin(), types.end(), mentions_reference); };
  switch (t->kind) {
    case relay::TypeKind::Reference:
      return true;
    case relay::TypeKind::Tuple:
      return any_of(relay::as<relay::TupleType>(t)->fields);
    case relay::TypeKind::Function: {
      const auto& f = *relay::as<relay::FunctionType>(t);
      return any_of(f.params) || mentions_reference(f.result);
    }
    case relay::TypeKind::Named:
      return any_of(relay::as<relay::NamedType>(t)->args);
    case relay::TypeKind::Tensor:
    case relay::TypeKind::Variable:
    case relay::TypeKind::Hole:
      break;
  }
  return false;
}

}  // namespace rldb::to_relax
