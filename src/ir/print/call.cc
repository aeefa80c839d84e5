// Calls in Relax: operators with their attributes, the call_tir family, packed functions, closures.
#include "ir/print/printer_impl.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op/device.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_attr/layout_attr.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"

namespace rldb::ir::print_detail {

// The first operand of call_tir, call_pure_packed, ... : an external function is written as its name.
void Printer::callee(const Expr* e) {
  if (const auto* ext = as<ExternFunc>(e); ext != nullptr && is_plain_extern(ext)) return string_literal(ext->symbol);
  value(e);
}

void Printer::call_args(Span<const Expr*> args, bool& first) {
  for (const Expr* a : args) {
    comma(first);
    value(a);
  }
}

void Printer::call_ty_args(const Call* c, bool& first) {
  if (c->ty_args.empty() || rfc()) return;
  comma(first);
  out_ += current() ? "ty_args=(" : "sinfo_args=(";
  bool first_type = true;
  for (const Type* ty : c->ty_args) {
    comma(first_type);
    type(ty);
  }
  out_ += c->ty_args.size() == 1 ? ",)" : ")";
}

void Printer::call_out_types(const Call* c) {
  if (c->ty_args.empty()) return;
  out_ += current() ? ", out_ty=" : ", out_sinfo=";
  const auto* tuple = as<TupleType>(c->ty_args[0]);
  if (tuple == nullptr) return type(c->ty_args[0]);
  out_ += '[';
  bool first = true;
  for (const Type* f : tuple->fields) {
    comma(first);
    type(f);
  }
  out_ += ']';
}

// RFC 0089: the output shape is an operand, its dtype an attribute.
void Printer::call_rfc_output(const Type* ty) {
  const auto* x = as<TensorType>(ty);
  out_ += ", ";
  if (x != nullptr && x->has_shape) {
    tuple(x->shape);
  } else if (x != nullptr && x->shape_var != nullptr) {
    expr(x->shape_var);
  } else {
    type(ty);
  }
  if (x != nullptr && !x->dtype.is_void()) {
    out_ += ", dtype=";
    dtype_literal(x->dtype);
  }
}

namespace {
// A call_tir whose outputs are distributed tensors has a name of its own in the text.
bool gives_dtensor(const Call* c) {
  if (c->ty_args.empty()) return false;
  const auto* tuple = as<TupleType>(c->ty_args[0]);
  if (tuple != nullptr && tuple->fields.empty()) return false;
  return as<DTensorType>(tuple != nullptr ? tuple->fields[0] : c->ty_args[0]) != nullptr;
}
}  // namespace

void Printer::call_with_out_type(const Call* c, std::string_view op) {
  r(op == short_op::CallTir && gives_dtensor(c) ? "dist.call_tir" : op);
  out_ += '(';
  if (!c->args.empty()) callee(c->args[0]);
  if (c->args.size() > 1) {
    out_ += ", ";
    expr(c->args[1]);
  }
  bool single = c->ty_args.size() == 1 && as<TupleType>(c->ty_args[0]) == nullptr;
  if (rfc() && single)
    call_rfc_output(c->ty_args[0]);
  else
    call_out_types(c);
  if (c->args.size() > 2) {
    out_ += ", tir_vars=";
    expr(c->args[2]);
  }
  for (const NamedAttr& a : c->attrs) {
    bool empty = a.value->is(AttrKind::None) || (a.value->is(AttrKind::Dict) && a.value->fields.empty());
    if (a.name == op_attr::TeGradKwargs && empty) continue;
    out_ += ", ";
    out_ += a.name;
    out_ += '=';
    attr(a.value);
  }
  out_ += ')';
}

void Printer::call_relax_op(const Call* c, std::string_view op) {
  const op::Row* row = as<Op>(c->callee)->row;
  const auto has = [row](op::Trait t) { return row != nullptr && row->has(t); };
  if (has(op::Trait::OutType)) return call_with_out_type(c, op);
  r(op);
  out_ += '(';
  bool first = true;
  // The format string is the last in the text, and comes first (print) or second (assert_op) in the IR.
  std::size_t format = op == short_op::Print ? 0 : op == short_op::AssertOp ? 1 : c->args.size();
  for (std::size_t k = 0; k < c->args.size(); ++k) {
    if (k == format) continue;
    comma(first);
    const auto* shape = as<ShapeExpr>(c->args[k]);
    if (shape != nullptr && rfc() && has(op::Trait::ShapeTuple))
      tuple(shape->values);
    else if (k == 0)
      callee(c->args[k]);
    else
      value(c->args[k]);
  }
  if (format < c->args.size()) {
    comma(first);
    out_ += "format=";
    expr(c->args[format]);
  }
  if (op == short_op::HintOnDevice) {  // the only operator whose attributes are positional in the text
    for (const NamedAttr& a : c->attrs) {
      comma(first);
      attr(a.value);
    }
  } else {
    // Separators are written only if there are any.
    std::vector<NamedAttr> written(c->attrs.begin(), c->attrs.end());
    std::erase_if(written, [](const NamedAttr& a) {
      return (a.name == op_attr::AxisSeparators || a.name == op_attr::InputAxisSeparators) &&
             a.value->is(AttrKind::None);
    });
    keyword_attrs(written, first);
  }
  call_ty_args(c, first);
  out_ += ')';
}

void Printer::call(const Call* c) {
  if (const auto* op = as<Op>(c->callee)) {
    if (op::is_relax(op->name)) return call_relax_op(c, op::short_name(op->name));
    return tir_call(c);
  }
  if (in_tir_) return tir_call(c);
  bool first = true;
  if (const auto* ext = as<ExternFunc>(c->callee); ext != nullptr && is_plain_extern(ext)) {
    r("call_packed(");
    comma(first);
    string_literal(ext->symbol);
  } else {
    expr(c->callee, kAtom);
    out_ += '(';
  }
  call_args(c->args, first);
  keyword_attrs(c->attrs, first);
  call_ty_args(c, first);
  out_ += ')';
}

}  // namespace rldb::ir::print_detail
