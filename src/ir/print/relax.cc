// Relax functions: signature, symbolic variables, bindings, blocks, branches.
#include <algorithm>
#include <utility>

#include "ir/print/printer_impl.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

bool is_void(const Type* t) {
  const auto* tuple = as<TupleType>(t);
  return tuple != nullptr && tuple->fields.empty();
}

// In the RFC's spelling the annotation of such a call would be its type.
bool is_untyped_packed(const Expr* e) {
  const auto* c = as<Call>(e);
  return c != nullptr && isa<ExternFunc>(c->callee) && c->ty_args.empty();
}

// RFC 0089 has no purity flag: a reader infers the purity of a function from its calls. Where that might give a
// different result the decorator states it.
bool looks_impure(const Function* f) {
  bool found = false;
  walk(f->body, [&found](const Node* n) {
    const auto* c = as<Call>(n);
    const auto* op = c != nullptr ? as<Op>(c->callee) : nullptr;
    if (c == nullptr || found) return !found;
    found = op == nullptr || (op::is_relax(op->name) && (op->row == nullptr || !op->row->pure));
    return !found;
  });
  return found;
}

bool is_call_of(const Expr* e, std::string_view op) {
  const auto* c = as<Call>(e);
  const auto* o = c != nullptr ? as<Op>(c->callee) : nullptr;
  return o != nullptr && o->name == op;
}

}  // namespace

void Printer::collect_symbols(std::span<const Type* const> types, const std::unordered_set<const Node*>& params,
                              Signature& out) {
  std::unordered_set<const Node*> seen;
  std::vector<const Var*> vars;
  for (const Type* t : types) collect_vars(t, vars);
  for (const Var* v : vars) {
    if (as<PrimType>(v->type) == nullptr || params.count(v) != 0 || names_.has(v)) continue;
    if (seen.insert(v).second) out.symbols.push_back(v);
  }
}

// Names the symbolic variables of a signature and decides how the text declares them.
void Printer::define_symbols(Signature& s) {
  for (const Var* v : s.symbols) {
    std::string_view name = define(v);
    if (!in_tir_) symbols_.insert(v);
    if (!current()) continue;
    type_vars_.insert(v);
    s.type_vars.emplace_back(name);
  }
  std::sort(s.type_vars.begin(), s.type_vars.end());
}

void Printer::leave_symbols(const Signature& s) {
  for (const Var* v : s.symbols) type_vars_.erase(v);
}

// def main[n, m](...)
void Printer::generics(const Signature& s) {
  if (!opt_.pep695 || s.type_vars.empty()) return;
  out_ += '[';
  bool first = true;
  for (const std::string& n : s.type_vars) {
    comma(first);
    out_ += n;
  }
  out_ += ']';
}

void Printer::keep_type_vars(Signature& s) {
  if (opt_.pep695) return;
  used_typing_ = used_typing_ || !s.type_vars.empty();
  for (std::string& n : s.type_vars)
    if (module_type_var_set_.insert(n).second) module_type_vars_.push_back(std::move(n));
}

void Printer::prelude(std::string text) {
  if (function_ != nullptr) function_->prelude.push_back(std::move(text));
}

void Printer::require_alias() {
  if (rfc() || function_ == nullptr || module_ == nullptr || opt_.module_alias.empty()) return;
  FunctionState* outermost = function_;
  while (outermost->outer != nullptr) outermost = outermost->outer;
  if (outermost->alias_written) return;
  outermost->alias_written = true;
  outermost->prelude.push_back(opt_.module_alias + " = " + std::string(module_->name));
}

void Printer::function_decorator(const Function* f, bool global) {
  line(f);
  out_ += '@';
  r("function");
  std::string_view purity = f->is_pure ? "" : "pure=False";
  if (f->is_pure && rfc() && looks_impure(f)) purity = "pure=True";
  decorator_options({purity, global && f->is_private() ? "private=True" : ""});
}

// `(private=True, s_tir=True)`, or nothing; empty options are skipped.
void Printer::decorator_options(std::initializer_list<std::string_view> options) {
  bool first = true;
  for (std::string_view o : options) {
    if (o.empty()) continue;
    if (first) out_ += '(';
    comma(first);
    out_ += o;
  }
  if (!first) out_ += ')';
}

// The symbol of a global function is usually implied by its name.
void Printer::func_attr(const Node* f, std::string_view name, Span<NamedAttr> attrs) {
  const Attr* symbol = find_attr(attrs, attr_name::GlobalSymbol);
  bool hide = symbol != nullptr && symbol->is(AttrKind::String) && symbol->string == name;
  if (attrs.size() <= (hide ? 1U : 0U)) return;
  line(f);
  if (in_tir_)
    t("func_attr(");
  else
    r("func_attr(");
  attr_dict(attrs, hide ? std::string_view(attr_name::GlobalSymbol) : std::string_view{});
  out_ += ')';
}

// Header comments and type variables are above a local function too.
void Printer::finish_local(const Mark& at, const Signature& s) {
  std::vector<std::string> head;
  bool lines = current() && !opt_.pep695;
  if (lines && !s.type_vars.empty()) used_typing_ = true;
  if (opt_.header) head = header_lines();
  if (lines)
    for (std::string& l : type_var_lines(s.type_vars)) head.push_back(std::move(l));
  insert_lines(at, head, true);
  blank_line();
}

void Printer::collect_named_voids(const Function* f) {
  walk(f->body, [&](const Node* n) {
    if (const auto* v = as<Var>(n); v != nullptr && is_void(v->type)) named_voids_.insert(v);
    const auto* b = as<BindingBlock>(n);
    if (b == nullptr || !b->is_dataflow()) return true;
    for (const Binding* x : b->bindings)
      if (!x->var->is_dataflow() && is_void(x->var->type)) named_voids_.insert(x->var);
    return true;
  });
}

void Printer::function(std::string_view name, const Function* f, bool global) {
  if (too_deep()) return;
  ++depth_;
  if (global) collect_named_voids(f);
  Mark above = mark();
  names_.push();
  bool saved_tir = in_tir_;
  in_tir_ = false;
  std::unordered_set<const Node*> params(f->params.begin(), f->params.end());
  for (const Var* p : f->params)
    if (as<PrimType>(p->type) != nullptr) later_params_.insert(p);
  Signature sig;
  std::vector<const Type*> types;
  if (!current()) types.push_back(f->ret_type);
  for (const Var* p : f->params) types.push_back(p->type);
  if (current()) types.push_back(f->ret_type);
  collect_symbols(types, params, sig);
  define_symbols(sig);

  function_decorator(f, global);
  line(f);
  out_ += "def ";
  out_ += name;
  generics(sig);
  out_ += '(';
  in_signature_ = true;
  bool first = true;
  for (const Var* p : f->params) {
    comma(first);
    out_ += define(p);
    out_ += ": ";
    type(p->type);
    later_params_.erase(p);
  }
  out_ += ") -> ";
  type(f->ret_type);
  out_ += ':';
  in_signature_ = false;

  FunctionState state;
  state.outer = function_;
  state.depth = names_.depth();
  function_ = &state;
  ++indent_;
  if (opt_.syntax == Syntax::Sinfo) {
    for (const Var* v : sig.symbols) {
      line(nullptr);
      out_ += names_.find(v);
      out_ += " = ";
      var_creation(v);
    }
  }
  func_attr(f, name, f->attrs);
  state.at = mark();
  names_.push();
  seq_blocks(f->body);
  line(f->body);
  out_ += "return ";
  value(f->body->body);
  names_.pop();
  insert_lines(state.at, state.prelude);
  function_ = state.outer;
  --indent_;
  names_.pop();
  leave_symbols(sig);
  in_tir_ = saved_tir;
  --depth_;
  if (!global) return finish_local(above, sig);
  keep_type_vars(sig);
}

void Printer::seq_blocks(const SeqExpr* s) {
  for (const BindingBlock* b : s->blocks) block(b);
}

void Printer::block(const BindingBlock* b) {
  if (!b->is_dataflow()) {
    for (const Binding* x : b->bindings) binding(x);
    return;
  }
  line(b);
  out_ += "with ";
  r("dataflow():");
  ++indent_;
  bool saved = std::exchange(in_dataflow_, true);  // a local function in the block has blocks of its own
  for (const Binding* x : b->bindings) binding(x);
  in_dataflow_ = saved;
  line(b);
  r(rfc() ? "outputs(" : "output(");
  bool first = true;
  for (const Binding* x : b->bindings) {
    if (x->var->is_dataflow() || !names_.has(x->var)) continue;
    comma(first);
    out_ += names_.find(x->var);
  }
  out_ += ')';
  --indent_;
}

bool Printer::annotation_shown(const Binding* b) const {
  if (b->var->type == nullptr) return false;
  if (b->is_match_cast()) return opt_.show_all_ty;
  if (rfc() && b->var->type->kind == TypeKind::Any && is_untyped_packed(b->value)) return false;
  bool droppable = !opt_.show_all_ty || is_call_of(b->value, op::CallTir) || is_call_of(b->value, op::CallDpsPacked);
  return !droppable || b->value->type != b->var->type;
}

void Printer::branch(const SeqExpr* s, std::string_view name, const Binding* b) {
  ++indent_;
  names_.push();
  seq_blocks(s);
  line(s);
  out_ += name;
  if (b->var->type != nullptr) {
    out_ += ": ";
    type(b->var->type);
  }
  out_ += " = ";
  value(s->body);
  names_.pop();
  --indent_;
}

void Printer::if_binding(const Binding* b, const If* e) {
  if (too_deep()) return;
  ++depth_;
  line(b);
  out_ += "if ";
  expr(e->cond);
  out_ += ':';
  std::string_view name = define(b->var);
  branch(e->then_branch, name, b);
  line(nullptr);
  out_ += "else:";
  branch(e->else_branch, name, b);
  --depth_;
}

bool matches_shape_only(const Binding* b) {
  if (const auto* shape = as<ShapeType>(b->cast_type))
    return shape->has_values && as<ShapeType>(b->value->type) != nullptr;
  const auto* to = as<TensorType>(b->cast_type);
  const auto* from = as<TensorType>(b->value->type);
  return to != nullptr && from != nullptr && to->has_shape && to->dtype == from->dtype && to->vdevice == from->vdevice;
}

// RFC 0089 matches shapes only; other casts are written in the present form.
void Printer::match_cast(const Binding* b) {
  if (rfc()) {
    if (matches_shape_only(b)) {
      const auto* tensor = as<TensorType>(b->cast_type);
      Span<const Expr*> dims = tensor != nullptr ? tensor->shape : as<ShapeType>(b->cast_type)->values;
      r("match_shape(");
      expr(b->value);
      out_ += ", ";
      declares_by_use_ = !in_dataflow_;
      tuple(dims);
      declares_by_use_ = false;
      out_ += ')';
      return;
    }
  }
  r("match_cast(");
  expr(b->value);
  out_ += ", ";
  type(b->cast_type);
  out_ += ')';
}

void Printer::binding_value(const Binding* b) {
  if (b->is_match_cast()) return match_cast(b);
  const auto* items = as<Tuple>(b->value);
  if (items != nullptr && items->items.size() > 1 && !rfc()) return values(items->items);
  const auto* shape = as<ShapeExpr>(b->value);
  if (shape != nullptr && rfc()) return tuple(shape->values);
  value(b->value);
}

void Printer::binding(const Binding* b) {
  if (!b->is_match_cast()) {
    if (const auto* e = as<If>(b->value)) return if_binding(b, e);
    if (const auto* f = as<Function>(b->value)) return function(define(b->var), f, false);
    if (const auto* f = as<PrimFunc>(b->value)) return prim_func(define(b->var), f);
    if (is_void(b->value->type) && is_void(b->var->type) && !rfc() && named_voids_.count(b->var) == 0) {
      line(b);
      expr(b->value);
      return;
    }
  }
  line(b);
  // The variable is named only after the value is written: the value may mention a namesake that it shadows.
  std::string value = captured([&] { binding_value(b); });
  std::string annotation;
  if (annotation_shown(b)) {
    annotation = captured([&] {
      out_ += ": ";
      type(b->var->type);
    });
  }
  out_ += define(b->var);
  out_ += annotation;
  out_ += " = ";
  out_ += value;
}

}  // namespace rldb::ir::print_detail
