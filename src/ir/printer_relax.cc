// Relax functions: signature, symbolic variables, bindings, blocks, branches.
#include <algorithm>

#include "printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

bool is_void(const Type* t) {
  const auto* tuple = as<TupleType>(t);
  return tuple != nullptr && tuple->fields.empty();
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
    std::string_view name = names_.define(v, v->name.empty() ? std::string_view("v") : v->name);
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

void Printer::prelude(std::string text) {
  if (outer_ != nullptr) outer_->prelude.push_back(std::move(text));
}

void Printer::require_alias() {
  if (rfc() || outer_ == nullptr || outer_->alias_written || module_ == nullptr || opt_.module_alias.empty()) return;
  outer_->alias_written = true;
  prelude(opt_.module_alias + " = " + std::string(module_->name));
}

void Printer::function_decorator(const Function* f, bool global) {
  line(f);
  out_ += '@';
  r("function");
  bool is_private = global && f->is_private();
  if (f->is_pure && !is_private) return;
  out_ += '(';
  bool first = true;
  if (!f->is_pure) {
    comma(first);
    out_ += "pure=False";
  }
  if (is_private) {
    comma(first);
    out_ += "private=True";
  }
  out_ += ')';
}

// Header comments and type variables stand above a local function too.
void Printer::finish_local(const Mark& at, const Signature& s) {
  std::vector<std::string> head;
  bool lines = current() && !opt_.pep695;
  if (lines && !s.type_vars.empty()) used_typing_ = true;
  if (opt_.header) head = header_lines();
  if (lines)
    for (std::string& l : type_var_lines(s.type_vars)) head.push_back(std::move(l));
  insert_lines(at, head, true);
  int keep = indent_;
  indent_ = 0;
  line(nullptr);
  indent_ = keep;
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
  std::unordered_set<const Node*> saved_params = param_vars_;
  for (const Var* p : f->params)
    if (as<PrimType>(p->type) != nullptr) param_vars_.insert(p);
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
    out_ += names_.define(p, p->name.empty() ? std::string_view("v") : p->name);
    out_ += ": ";
    type(p->type);
  }
  out_ += ") -> ";
  type(f->ret_type);
  out_ += ':';
  in_signature_ = false;

  FunctionState state;
  bool outermost = outer_ == nullptr;
  ++indent_;
  if (outermost) {
    state.depth = names_.depth();
    outer_ = &state;
  }
  if (opt_.syntax == Syntax::Sinfo) {
    for (const Var* v : sig.symbols) {
      line(nullptr);
      std::string text = std::string(names_.find(v)) + " = ";
      var_creation(v, text);
      out_ += text;
    }
  }
  const Attr* symbol = find_attr(f->attrs, "global_symbol");
  bool hide = symbol != nullptr && symbol->is(AttrKind::String) && symbol->string == name;
  if (f->attrs.size() > (hide ? 1U : 0U)) {
    line(f);
    r("func_attr(");
    attr_dict(f->attrs, hide ? std::string_view("global_symbol") : std::string_view{});
    out_ += ')';
  }
  if (outermost) state.at = mark();
  names_.push();
  seq_blocks(f->body);
  line(f->body);
  out_ += "return ";
  expr(f->body->body);
  names_.pop();
  if (outermost) {
    insert_lines(state.at, state.prelude);
    outer_ = nullptr;
  }
  --indent_;
  names_.pop();
  leave_symbols(sig);
  param_vars_ = std::move(saved_params);
  in_tir_ = saved_tir;
  --depth_;
  if (!global) return finish_local(above, sig);
  if (opt_.pep695) return;
  for (std::string& n : sig.type_vars)
    if (module_type_var_set_.insert(n).second) module_type_vars_.push_back(std::move(n));
  used_typing_ = used_typing_ || !sig.type_vars.empty();
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
  for (const Binding* x : b->bindings) binding(x);
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
  bool droppable =
      !opt_.show_all_ty || is_call_of(b->value, "relax.call_tir") || is_call_of(b->value, "relax.call_dps_packed");
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
  expr(s->body);
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
  std::string_view name = names_.define(b->var, b->var->name.empty() ? std::string_view("v") : b->var->name);
  branch(e->then_branch, name, b);
  line(nullptr);
  out_ += "else:";
  branch(e->else_branch, name, b);
  --depth_;
}

// RFC 0089 matches shapes only; what it cannot say is written as today.
void Printer::match_cast(const Binding* b) {
  if (rfc()) {
    const auto* tensor = as<TensorType>(b->cast_type);
    const auto* shape = as<ShapeType>(b->cast_type);
    bool sayable = (tensor != nullptr && tensor->has_shape) || (shape != nullptr && shape->has_values);
    if (sayable) {
      Span<const Expr*> values = tensor != nullptr ? tensor->shape : shape->values;
      r("match_shape(");
      expr(b->value);
      out_ += ", (";
      dims(values);
      out_ += values.size() == 1 ? ",))" : "))";
      return;
    }
  }
  r("match_cast(");
  expr(b->value);
  out_ += ", ";
  type(b->cast_type);
  out_ += ')';
}

void Printer::binding(const Binding* b) {
  if (!b->is_match_cast()) {
    if (const auto* e = as<If>(b->value)) return if_binding(b, e);
    std::string_view wanted = b->var->name.empty() ? std::string_view("v") : b->var->name;
    if (const auto* f = as<Function>(b->value)) return function(names_.define(b->var, wanted), f, false);
    if (const auto* f = as<PrimFunc>(b->value)) return prim_func(names_.define(b->var, wanted), f);
    if (is_void(b->value->type) && is_void(b->var->type) && !rfc() && named_voids_.count(b->var) == 0) {
      line(b);
      expr(b->value);
      return;
    }
  }
  line(b);
  std::size_t at = out_.size();
  // The value is named only after it is written: it may mention a namesake that it shadows.
  if (b->is_match_cast()) {
    match_cast(b);
  } else if (const auto* tuple = as<Tuple>(b->value); tuple != nullptr && tuple->items.size() > 1 && !rfc()) {
    exprs(tuple->items);
  } else {
    expr(b->value);
  }
  std::string value = out_.substr(at);
  out_.resize(at);
  bool annotated = annotation_shown(b);
  std::string annotation;
  if (annotated) {
    out_ += ": ";
    type(b->var->type);
    annotation = out_.substr(at);
    out_.resize(at);
  }
  out_ += names_.define(b->var, b->var->name.empty() ? std::string_view("v") : b->var->name);
  out_ += annotation;
  out_ += " = ";
  out_ += value;
}

}  // namespace rldb::ir::print_detail
