// One-line descriptions of nodes and types for messages: bounded, without recursion.
#include "ir/compare/describe.h"

#include <fmt/format.h>

#include "rldb/support/text.h"

namespace rldb::ir {

namespace {

std::string dim_text(const Expr* e) {
  if (const auto* i = as<IntImm>(e)) return std::to_string(i->value);
  if (const auto* v = as<Var>(e)) return std::string(v->name);
  return "...";
}

std::string dims_text(Span<const Expr*> dims) {
  std::string out = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    if (i == 8) return out + "...)";
    out += dim_text(dims[i]);
  }
  return out + ")";
}

std::string tensor_text(const TensorType* t) {
  std::string out = "Tensor(";
  if (t->has_shape) {
    out += dims_text(t->shape);
  } else if (t->shape_var) {
    out += dim_text(t->shape_var);
  } else {
    out += t->ndim == kUnknownNdim ? "ndim=?" : fmt::format("ndim={}", t->ndim);
  }
  if (!t->dtype.is_void()) out += ", " + runtime::to_string(t->dtype);
  if (t->vdevice) out += fmt::format(", {}:{}", t->vdevice->target_kind, t->vdevice->device_id);
  return out + ")";
}

}  // namespace

std::string describe(const Type* t) {
  if (t == nullptr) return "nothing";
  switch (t->kind) {
    case TypeKind::Any:
      return "Any";
    case TypeKind::Prim:
      return runtime::to_string(as<PrimType>(t)->dtype);
    case TypeKind::Shape: {
      const auto* s = as<ShapeType>(t);
      if (s->has_values) return "Shape" + dims_text(s->values);
      return s->ndim == kUnknownNdim ? "Shape(ndim=?)" : fmt::format("Shape(ndim={})", s->ndim);
    }
    case TypeKind::Tensor:
      return tensor_text(as<TensorType>(t));
    case TypeKind::DTensor:
      return "D" + tensor_text(as<DTensorType>(t)->tensor);
    case TypeKind::Tuple:
      return fmt::format("Tuple of {} fields", as<TupleType>(t)->fields.size());
    case TypeKind::Func: {
      const auto* f = as<FuncType>(t);
      return f->opaque ? "Callable" : fmt::format("Callable of {}", support::counted(f->params.size(), "parameter"));
    }
    case TypeKind::Pointer:
      return "handle";
  }
  return "type";
}

std::string describe(const Node* n) {
  if (n == nullptr) return "nothing";
  const std::string kind(to_string(n->kind));
  if (const auto* v = as<Var>(n)) return fmt::format("{} {}", kind, v->name);
  if (const auto* g = as<GlobalVar>(n)) return fmt::format("{} {}", kind, g->name);
  if (const auto* o = as<Op>(n)) return std::string(o->name);
  if (const auto* i = as<IntImm>(n)) return fmt::format("{}({})", runtime::to_string(i->dtype()), i->value);
  if (const auto* f = as<FloatImm>(n)) return fmt::format("{}({})", runtime::to_string(f->dtype()), f->value);
  if (const auto* s = as<StringImm>(n)) return fmt::format("\"{}\"", s->value.substr(0, 60));
  if (const auto* e = as<ExternFunc>(n)) return fmt::format("{} \"{}\"", kind, e->symbol);
  if (const auto* c = as<Call>(n)) {
    if (isa<Call>(c->callee)) return kind;
    return fmt::format("{} of {}", kind, describe(c->callee));
  }
  if (const auto* b = as<Buffer>(n)) return fmt::format("{} {}", kind, b->name);
  if (const auto* b = as<Binding>(n)) return fmt::format("{} of {}", kind, b->var->name);
  if (const auto* b = as<SBlock>(n)) return fmt::format("{} \"{}\"", kind, b->name);
  if (const auto* e = as<Expr>(n)) return fmt::format("{}: {}", kind, describe(e->type));
  return kind;
}

std::string describe(const Attr* a) {
  if (a == nullptr) return "nothing";
  switch (a->kind) {
    case AttrKind::None:
      return "None";
    case AttrKind::Bool:
      return a->integer ? "True" : "False";
    case AttrKind::Int:
      return std::to_string(a->integer);
    case AttrKind::Float:
      return fmt::format("{}", a->floating);
    case AttrKind::String:
      return fmt::format("\"{}\"", a->string.substr(0, 60));
    case AttrKind::DType:
      return runtime::to_string(a->dtype);
    case AttrKind::List:
      return fmt::format("list of {}", a->items.size());
    case AttrKind::Dict:
      return fmt::format("dict of {}", a->fields.size());
    case AttrKind::Expr:
    case AttrKind::Node:
      return describe(a->node);
    case AttrKind::Type:
      return describe(a->type);
    case AttrKind::Opaque:
      return fmt::format("{}(...)", a->string);
  }
  return "attribute";
}

}  // namespace rldb::ir
