// PrimFuncs: decorator, parameters, symbolic shapes of buffers, root block; buffer declarations of every form.
#include <algorithm>

#include "printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

bool is_zero(const Expr* e) {
  const auto* n = as<IntImm>(e);
  return n != nullptr && n->value == 0;
}

// A buffer whose old-form parameter needs no match_buffer.
bool is_simple(const Buffer* b) {
  bool fixed = std::all_of(b->shape.begin(), b->shape.end(), [](const Expr* e) { return isa<IntImm>(e); });
  return fixed && b->strides.empty() && (b->elem_offset == nullptr || is_zero(b->elem_offset)) &&
         b->scope == "global" && b->data_alignment == 64 && b->offset_factor <= 1 && b->buffer_type == 0 &&
         b->axis_separators.empty();
}

std::vector<const Var*> buffer_vars(const Buffer* b) {
  std::vector<const Var*> vars;
  for (const Expr* e : b->shape) collect_vars(e, vars);
  for (const Expr* e : b->strides) collect_vars(e, vars);
  if (b->elem_offset != nullptr) collect_vars(b->elem_offset, vars);
  return vars;
}

}  // namespace

void Printer::parameter_type(const Type* ty) {
  const auto* p = as<PointerType>(ty);
  if (p == nullptr) return type(ty);
  t("handle");
  if (p->element.is_void() && p->scope.empty()) return;
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

// T.int64(), T.handle("float32", "global"): what declares a variable.
void Printer::var_creation(const Var* v, std::string& to) {
  std::size_t at = out_.size();
  const auto* p = as<PointerType>(v->type);
  if (rfc() && p == nullptr) {
    t("var(");
    dtype_literal(v->dtype());
    out_ += ')';
  } else if (p == nullptr) {
    t(runtime::to_string(v->dtype()));
    out_ += "()";
  } else {
    parameter_type(v->type);
    if (out_.back() != ')') out_ += "()";
  }
  to += out_.substr(at);
  out_.resize(at);
}

// `m, n = T.int32(), T.int32()`
void Printer::variable_lines(const std::vector<const Var*>& fresh) {
  if (fresh.empty()) return;
  line(nullptr);
  bool first = true;
  for (const Var* v : fresh) {
    comma(first);
    out_ += names_.find(v);
  }
  out_ += " = ";
  first = true;
  for (const Var* v : fresh) {
    comma(first);
    std::string text;
    var_creation(v, text);
    out_ += text;
  }
}

// Symbolic variables of a declaration that nothing defined yet are declared on a line of their own.
void Printer::declare_fresh(const Buffer* b) {
  std::vector<const Var*> fresh;
  for (const Var* v : buffer_vars(b)) {
    if (names_.has(v)) continue;
    names_.define(v, v->name.empty() ? std::string_view("v") : v->name);
    fresh.push_back(v);
  }
  if (!fragment_) variable_lines(fresh);
}

void Printer::define_buffer(const Buffer* b) {
  std::string_view name = names_.define(b, b->name.empty() ? std::string_view("buffer") : b->name);
  if (b->data != nullptr) names_.alias(b->data, std::string(name) + ".data");
}

void Printer::buffer_dim(const Expr* e, bool param) {
  if (!param || !current() || opt_.pep695 || isa<IntImm>(e)) return expr(e);
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  bool compound = !isa<Var>(e);
  bool quote = false;
  for (const Var* v : vars) {
    bool type_var = type_vars_.count(v) != 0;
    quote = quote || (type_var && compound) || (!type_var && met_.insert(v).second);
  }
  if (!quote) return expr(e);
  std::size_t at = out_.size();
  expr(e);
  std::string text = out_.substr(at);
  out_.resize(at);
  string_literal(text);
}

void Printer::buffer_dims(Span<const Expr*> dims, bool param) {
  out_ += '(';
  bool first = true;
  for (const Expr* e : dims) {
    comma(first);
    buffer_dim(e, param);
  }
  out_ += dims.size() == 1 ? ",)" : ")";
}

void Printer::buffer_keywords(const Buffer* b, bool param, bool with_data, bool& first) {
  auto keyword = [&](std::string_view name) {
    comma(first);
    out_ += name;
    out_ += '=';
  };
  if (with_data && b->data != nullptr && names_.has(b->data)) {
    keyword("data");
    out_ += names_.find(b->data);
  }
  if (!b->strides.empty()) {
    keyword("strides");
    buffer_dims(b->strides, param);
  }
  if (b->elem_offset != nullptr && !is_zero(b->elem_offset)) {
    keyword("elem_offset");
    buffer_dim(b->elem_offset, param);
  }
  if (!b->scope.empty() && b->scope != "global") {
    keyword("scope");
    string_literal(b->scope);
  }
  if (b->data_alignment != 64 && b->data_alignment > 0) {
    keyword("align");
    out_ += std::to_string(b->data_alignment);
  }
  if (b->offset_factor != 0) {
    keyword("offset_factor");
    out_ += std::to_string(b->offset_factor);
  }
  if (b->buffer_type != 0) {
    keyword("buffer_type");
    out_ += "\"auto\"";
  }
  if (!b->axis_separators.empty()) {
    keyword("axis_separators");
    out_ += '[';
    exprs(b->axis_separators);
    out_ += ']';
  }
  if (b->layout != nullptr) {
    keyword("layout");
    attr(b->layout);
  }
}

void Printer::buffer_arguments(const Buffer* b, bool param, bool with_data, bool always_dtype, bool& first) {
  comma(first);
  buffer_dims(b->shape, param);
  if (always_dtype || b->dtype != DType::Float(32)) {
    comma(first);
    dtype_literal(b->dtype);
  }
  buffer_keywords(b, param, with_data, first);
}

void Printer::param_buffer(const Buffer* b) {
  t("Buffer(");
  bool first = true;
  bool shared = b->data != nullptr && names_.has(b->data);
  buffer_arguments(b, true, shared, true, first);
  out_ += ')';
}

// Today's form: parameters are buffers.
void Printer::prim_params(const PrimFunc* f, Signature& sig) {
  std::unordered_set<const Node*> scalars;
  for (const PrimParam& p : f->params)
    if (p.buffer == nullptr && p.var != nullptr) scalars.insert(p.var);
  std::unordered_set<const Node*> seen;
  for (const PrimParam& p : f->params) {
    if (p.buffer == nullptr) continue;
    for (const Var* v : buffer_vars(p.buffer)) {
      bool int64 = v->dtype() == DType::Int(64);
      if (scalars.count(v) != 0 || !int64 || names_.has(v) || !seen.insert(v).second) continue;
      sig.symbols.push_back(v);
    }
  }
  define_symbols(sig);
  generics(sig);
  out_ += '(';
  std::vector<std::vector<const Var*>> fresh;
  bool first = true;
  for (const PrimParam& p : f->params) {
    comma(first);
    if (p.buffer == nullptr) {
      out_ += names_.define(p.var, p.var->name.empty() ? std::string_view("v") : p.var->name);
      out_ += ": ";
      parameter_type(p.var->type);
      met_.insert(p.var);
      continue;
    }
    std::string_view name =
        names_.define(p.buffer, p.buffer->name.empty() ? std::string_view("buffer") : p.buffer->name);
    std::vector<const Var*> mine;
    for (const Var* v : buffer_vars(p.buffer)) {
      if (names_.has(v)) continue;
      names_.define(v, v->name.empty() ? std::string_view("v") : v->name);
      if (scalars.count(v) == 0) mine.push_back(v);
    }
    fresh.push_back(std::move(mine));
    out_ += name;
    out_ += ": ";
    param_buffer(p.buffer);
    if (p.buffer->data != nullptr) names_.alias(p.buffer->data, std::string(name) + ".data");
    if (p.var != nullptr) names_.alias(p.var, std::string(name) + ".data");
  }
  out_ += ')';
  const auto* ret = as<TupleType>(f->ret_type);
  if (f->ret_type != nullptr && (ret == nullptr || !ret->fields.empty())) {
    out_ += " -> ";
    parameter_type(f->ret_type);
  }
  out_ += ':';
  ++indent_;
  for (const auto& group : fresh) variable_lines(group);
  --indent_;
}

// The form until 2026: handles, matched to buffers in the body.
void Printer::prim_params_old(const PrimFunc* f, std::vector<const PrimParam*>& to_match) {
  out_ += '(';
  bool first = true;
  for (const PrimParam& p : f->params) {
    comma(first);
    if (p.buffer == nullptr) {
      out_ += names_.define(p.var, p.var->name.empty() ? std::string_view("v") : p.var->name);
      out_ += ": ";
      parameter_type(p.var->type);
    } else if (!rfc() && is_simple(p.buffer) && !names_.has(p.buffer->data)) {
      out_ += names_.define(p.buffer, p.buffer->name.empty() ? std::string_view("buffer") : p.buffer->name);
      out_ += ": ";
      param_buffer(p.buffer);
      define_buffer(p.buffer);
    } else {
      bool named = p.var != nullptr && !p.var->name.empty() && p.var->name != p.buffer->name;
      std::string wanted = named ? std::string(p.var->name) : "var_" + std::string(p.buffer->name);
      if (p.var != nullptr) {
        // The name must outlive this call.
        out_ += named ? names_.define(p.var, p.var->name) : names_.define_owned(p.var, std::move(wanted));
      } else {
        out_ += wanted;
      }
      out_ += ": ";
      t("handle");
      to_match.push_back(&p);
    }
  }
  out_ += ')';
  const auto* ret = as<TupleType>(f->ret_type);
  if (f->ret_type != nullptr && (ret == nullptr || !ret->fields.empty())) {
    out_ += " -> ";
    parameter_type(f->ret_type);
  }
  out_ += ':';
}

// TVM writes the root block as a comment when it says nothing itself.
bool Printer::has_implicit_root(const PrimFunc* f) const {
  const auto* root = as<SBlockRealize>(f->body);
  if (root == nullptr || !root->iter_values.empty()) return false;
  const auto* predicate = as<IntImm>(root->predicate);
  const SBlock* b = root->block;
  if ((root->predicate != nullptr && (predicate == nullptr || predicate->value != 1)) || b->name != "root")
    return false;
  if (!b->annotations.empty() || !b->match_buffers.empty() || !b->reads.empty() || !b->writes.empty() ||
      !b->iter_vars.empty() || b->init != nullptr)
    return false;
  if (!b->alloc_buffers.empty()) return true;
  if (const auto* inner = as<SBlockRealize>(b->body)) return !inner->block->iter_vars.empty();
  bool found = false;
  walk(b->body, [&found](const Node* n) {
    found = found || isa<SBlockRealize>(n);
    return !found && !isa<Expr>(n);
  });
  return found;
}

void Printer::prim_func(std::string_view name, const PrimFunc* f) {
  if (too_deep()) return;
  ++depth_;
  names_.push();
  bool saved_tir = in_tir_;
  in_tir_ = true;
  line(f);
  out_ += '@';
  t("prim_func");
  bool s_tir = f->s_tir && current();
  if (f->is_private() || s_tir) {
    out_ += '(';
    bool first = true;
    if (f->is_private()) {
      comma(first);
      out_ += "private=True";
    }
    if (s_tir) {
      comma(first);
      out_ += "s_tir=True";
    }
    out_ += ')';
  }
  line(f);
  out_ += "def ";
  out_ += name;
  Signature sig;
  std::vector<const PrimParam*> to_match;
  if (current())
    prim_params(f, sig);
  else
    prim_params_old(f, to_match);
  FunctionState* saved_outer = outer_;
  FunctionState state;
  state.depth = names_.depth();
  outer_ = &state;
  ++indent_;
  const Attr* symbol = find_attr(f->attrs, "global_symbol");
  bool hide = symbol != nullptr && symbol->is(AttrKind::String) && symbol->string == name;
  if (f->attrs.size() > (hide ? 1U : 0U)) {
    line(f);
    t("func_attr(");
    attr_dict(f->attrs, hide ? std::string_view("global_symbol") : std::string_view{});
    out_ += ')';
  }
  for (const PrimParam* p : to_match) {
    declare_fresh(p->buffer);
    line(nullptr);
    out_ += names_.define(p->buffer, p->buffer->name.empty() ? std::string_view("buffer") : p->buffer->name);
    out_ += " = ";
    t("match_buffer(");
    out_ += p->var != nullptr ? std::string(names_.find(p->var)) : "var_" + std::string(p->buffer->name);
    bool first = false;
    buffer_arguments(p->buffer, false, false, false, first);
    out_ += ')';
    define_buffer(p->buffer);
  }
  state.at = mark();
  std::unordered_map<const Node*, int> launches;
  walk(f->body, [&launches](const Node* n) {
    if (const auto* a = as<AttrStmt>(n); a != nullptr && a->thread_var != nullptr) ++launches[a->thread_var];
    return !isa<Expr>(n);
  });
  for (const auto& [v, count] : launches)
    if (count > 1) env_threads_.insert(v);
  if (has_implicit_root(f)) {
    const SBlock* root = as<SBlockRealize>(f->body)->block;
    line(root);
    out_ += current() ? "# with T.sblock(\"root\"):" : "# with T.block(\"root\"):";
    for (const Buffer* b : root->alloc_buffers) sblock_alloc(b);
    body(root->body);
  } else {
    body(f->body);
  }
  insert_lines(state.at, state.prelude);
  --indent_;
  outer_ = saved_outer;
  names_.pop();
  leave_symbols(sig);
  met_.clear();
  env_threads_.clear();
  in_tir_ = saved_tir;
  --depth_;
  if (opt_.pep695) return;
  for (std::string& n : sig.type_vars)
    if (module_type_var_set_.insert(n).second) module_type_vars_.push_back(std::move(n));
  used_typing_ = used_typing_ || !sig.type_vars.empty();
}

}  // namespace rldb::ir::print_detail
