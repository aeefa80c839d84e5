// Types: annotations of Relax and of TensorIR, in three spellings.
#include "ir/print/printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {

void Printer::vdevice(const VDevice* v) {
  // The middle number counts the module's devices of the same kind.
  int index = 0;
  bool found = false;
  if (module_ != nullptr) {
    for (const VDevice* other : module_->vdevices) {
      if (other == v || (v->global_index >= 0 && other->global_index == v->global_index)) {
        found = true;
        break;
      }
      if (other->target_kind == v->target_kind) ++index;
    }
  }
  if (!found) index = v->device_id;
  out_ += '"';
  out_ += v->target_kind;
  out_ += ':' + std::to_string(index) + ':';
  out_ += v->memory_scope;
  out_ += '"';
}

// In a signature a dimension is bare when Python can evaluate it there: a number, a type variable, arithmetic on
// parameters before it. All arithmetic on type variables is a string.
void Printer::dim(const Expr* e) {
  if (!in_signature_ || isa<IntImm>(e)) return expr(e);
  bool quote = false;
  if (current() && !opt_.pep695) {
    bool compound = !isa<Var>(e);
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    for (const Var* v : vars)
      quote = quote || !names_.has(v) || later_params_.count(v) != 0 || (compound && type_vars_.count(v) != 0);
  } else if (opt_.syntax == Syntax::Sinfo) {
    std::vector<const Var*> vars;
    collect_vars(e, vars);
    quote = !vars.empty();
  }
  quoted(e, quote);
}

// A scalar expression, in a string if `quote` is set.
void Printer::quoted(const Expr* e, bool quote) {
  if (!quote) return expr(e);
  string_literal(captured([&] { expr(e); }));
}

void Printer::dims(Span<const Expr*> values) {
  bool first = true;
  for (const Expr* e : values) {
    comma(first);
    dim(e);
  }
}

// (n, 4)
void Printer::shape_of(const TensorType* x) {
  out_ += '(';
  dims(x->shape);
  out_ += x->shape.size() == 1 ? ",)" : ")";
}

void Printer::tensor_type(const TensorType* x) {
  r("Tensor");
  bool shaped = x->has_shape || x->shape_var != nullptr;
  bool ranked = !shaped && x->ndim != kUnknownNdim;
  if (!shaped && !ranked && x->dtype.is_void() && x->vdevice == nullptr) return;
  out_ += '(';
  bool first = true;
  if (shaped) comma(first);
  if (x->has_shape)
    shape_of(x);
  else if (x->shape_var != nullptr)
    expr(x->shape_var);
  if (!x->dtype.is_void()) {
    comma(first);
    out_ += "dtype=";
    dtype_literal(x->dtype);
  }
  if (ranked) {
    comma(first);
    out_ += "ndim=" + std::to_string(x->ndim);
  }
  if (x->vdevice != nullptr) {
    comma(first);
    out_ += "vdevice=";
    vdevice(x->vdevice);
  }
  out_ += ')';
}

// R.Tensor[(n, k), "float32"]
void Printer::tensor_type_rfc(const TensorType* x) {
  r("Tensor[");
  if (x->has_shape)
    shape_of(x);
  else if (x->shape_var != nullptr)
    expr(x->shape_var);
  else
    out_ += '_';
  out_ += ", ";
  if (x->dtype.is_void())
    out_ += '_';
  else
    dtype_literal(x->dtype);
  out_ += ']';
}

// R.DTensor((m, n), "float32", "mesh[0]", "R"); after the first argument that is absent, the others have their names.
void Printer::distributed_type(const DTensorType* x) {
  const TensorType* tensor = x->tensor;
  r("DTensor(");
  bool first = true;
  bool named = false;
  const auto argument = [&](std::string_view name) {
    comma(first);
    if (named) out_.append(name) += '=';
  };
  if (tensor->has_shape || tensor->shape_var != nullptr) {
    comma(first);
    tensor->has_shape ? shape_of(tensor) : expr(tensor->shape_var);
  } else {
    named = true;
  }
  if (!tensor->dtype.is_void()) {
    argument("dtype");
    dtype_literal(tensor->dtype);
  } else {
    named = true;
  }
  argument("device_mesh");
  attr(x->device_mesh);
  argument("placement");
  string_literal(x->placement);
  if (!tensor->has_shape && tensor->shape_var == nullptr && tensor->ndim != kUnknownNdim)
    out_ += ", ndim=" + std::to_string(tensor->ndim);
  out_ += ')';
}

void Printer::callable_type(const FuncType* f) {
  r("Callable");
  bool first = true;
  if (!f->opaque) {
    out_ += "((";
    for (const Type* p : f->params) {
      comma(first);
      type(p);
    }
    if (f->params.size() == 1) out_ += ',';
    out_ += "), ";
    type(f->ret);
    out_ += f->pure ? ", True)" : ", False)";
    return;
  }
  bool any = f->ret == nullptr || f->ret->kind == TypeKind::Any;
  if (any && !f->pure && f->derive_func.empty()) return;
  comma(first);
  if (!f->derive_func.empty()) {
    out_ += "(derive_func=";
    string_literal(f->derive_func);
  } else {
    out_ += "(ret=";
    type(f->ret);
  }
  out_ += f->pure ? ", purity=True)" : ")";
}

// A type in TensorIR: of a parameter, a let, an intrinsic's result.
void Printer::parameter_type(const Type* ty) {
  if (const auto* p = as<PointerType>(ty)) return pointer_type(p, false);
  type(ty);
}

// T.handle, T.handle("float32", "global"); as a value always a call.
void Printer::pointer_type(const PointerType* p, bool as_value) {
  t("handle");
  if (p->element.is_void() && p->scope.empty()) {
    if (as_value) out_ += "()";
    return;
  }
  out_ += '(';
  bool first = true;
  if (!p->element.is_void()) {
    comma(first);
    dtype_literal(p->element);
  }
  if (!p->scope.empty()) {
    comma(first);
    if (p->element.is_void()) out_ += "storage_scope=";
    string_literal(p->scope);
  }
  out_ += ')';
}

void Printer::type(const Type* ty) {
  if (ty == nullptr) {
    out_ += "None";
    return;
  }
  if (too_deep()) return;
  if (out_.size() > limit_) {
    if (!out_.ends_with("...")) out_ += "...";
    return;
  }
  ++depth_;
  switch (ty->kind) {
    case TypeKind::Any:
      r(current() ? "Any" : "Object");
      break;
    case TypeKind::Prim: {
      const auto* p = as<PrimType>(ty);
      if (current() || in_tir_) {
        t(runtime::to_string(p->dtype));
      } else {
        r("Prim(");
        dtype_literal(p->dtype);
        out_ += ')';
      }
      break;
    }
    case TypeKind::Shape: {
      const auto* s = as<ShapeType>(ty);
      if (rfc()) {
        r("Shape");
      } else if (s->has_values && !s->values.empty()) {
        r("Shape([");
        dims(s->values);
        out_ += "])";
      } else {
        r("Shape(ndim=");
        out_ += std::to_string(s->ndim) + ")";
      }
      break;
    }
    case TypeKind::Tensor:
      if (rfc())
        tensor_type_rfc(as<TensorType>(ty));
      else
        tensor_type(as<TensorType>(ty));
      break;
    case TypeKind::DTensor:
      distributed_type(as<DTensorType>(ty));
      break;
    case TypeKind::Tuple: {
      const auto* x = as<TupleType>(ty);
      r("Tuple");
      if (x->fields.empty()) break;
      out_ += '(';
      bool first = true;
      for (const Type* f : x->fields) {
        if (out_.size() > limit_ && out_.ends_with("...")) break;
        comma(first);
        type(f);
      }
      out_ += ')';
      break;
    }
    case TypeKind::Func:
      callable_type(as<FuncType>(ty));
      break;
    case TypeKind::Pointer:
      parameter_type(ty);
      break;
  }
  --depth_;
}

}  // namespace rldb::ir::print_detail
