// PrimFuncs: decorator, parameters in the present and the earlier form, the lines at the start of the body.
#include <algorithm>

#include "ir/print/printer_impl.h"
#include "rldb/ir/walk.h"

namespace rldb::ir::print_detail {
namespace {

// A buffer whose old-form parameter needs no match_buffer.
bool is_simple(const Buffer* b) {
  bool fixed = std::all_of(b->shape.begin(), b->shape.end(), [](const Expr* e) { return isa<IntImm>(e); });
  return fixed && b->strides.empty() && (b->elem_offset == nullptr || is_int(b->elem_offset, 0)) &&
         b->scope == "global" && b->data_alignment == 64 && b->offset_factor <= 1 && b->buffer_type == 0 &&
         b->axis_separators.empty();
}

// An unused offset, of a type that a symbol of the signature cannot have: offset_factor implies it.
bool is_open_offset(const PrimFunc* f, const Buffer* b) {
  const auto* v = as<Var>(b->elem_offset);
  if (v == nullptr || v->dtype() == DType::Int(64)) return false;
  if (!b->shape.empty() && b->shape[0]->dtype() != v->dtype()) return false;
  bool used = false;
  const auto look = [&](const Node* in) {
    walk(in, [&](const Node* n) {
      used = used || n == v;
      return n != b;
    });
  };
  for (const Expr* dim : b->shape) look(dim);
  for (const Expr* stride : b->strides) look(stride);
  for (const PrimParam& p : f->params) {
    look(p.var);
    if (p.buffer != nullptr) look(p.buffer);
  }
  look(f->body);
  return !used;
}

}  // namespace

void Printer::prim_return_type(const PrimFunc* f) {
  const auto* ret = as<TupleType>(f->ret_type);
  if (f->ret_type != nullptr && (ret == nullptr || !ret->fields.empty())) {
    out_ += " -> ";
    parameter_type(f->ret_type);
  }
  out_ += ':';
}

// The present form: parameters are buffers.
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
      out_ += define(p.var);
      out_ += ": ";
      parameter_type(p.var->type);
      met_.insert(p.var);
      continue;
    }
    std::string_view name = define(p.buffer);
    std::vector<const Var*> mine;
    if (is_open_offset(f, p.buffer)) open_offsets_.insert(p.buffer->elem_offset);
    for (const Var* v : buffer_vars(p.buffer)) {
      if (names_.has(v) || open_offsets_.count(v) != 0) continue;
      define(v);
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
  prim_return_type(f);
  ++indent_;
  for (const auto& group : fresh) variable_lines(group);
  --indent_;
}

// The form until 2026: handles, matched to buffers in the body.
void Printer::prim_params_old(const PrimFunc* f, std::vector<MatchedParam>& to_match) {
  out_ += '(';
  bool first = true;
  for (const PrimParam& p : f->params) {
    comma(first);
    if (p.buffer == nullptr) {
      out_ += define(p.var);
      out_ += ": ";
      parameter_type(p.var->type);
    } else if (!rfc() && is_simple(p.buffer) && !names_.has(p.buffer->data)) {
      out_ += define(p.buffer);
      out_ += ": ";
      param_buffer(p.buffer);
      define_buffer(p.buffer);
    } else {
      bool named = p.var != nullptr && !p.var->name.empty() && p.var->name != p.buffer->name;
      std::string handle = named ? std::string(p.var->name) : "var_" + std::string(define(p.buffer));
      to_match.emplace_back(&p, p.var != nullptr ? std::string(names_.define_owned(p.var, handle)) : handle);
      out_ += to_match.back().second;
      out_ += ": ";
      t("handle");
    }
  }
  out_ += ')';
  prim_return_type(f);
}

// A = T.match_buffer(a, (n, 4), "float32")
void Printer::match_parameter(const MatchedParam& matched) {
  const Buffer* b = matched.first->buffer;
  declare_fresh(b);
  line(nullptr);
  out_ += define(b);
  out_ += " = ";
  t("match_buffer(");
  out_ += matched.second;
  bool first = false;
  buffer_arguments(b, false, first);
  out_ += ')';
  define_buffer(b);
}

// Thread variables that several statements launch are declared once, before all of them.
void Printer::collect_env_threads(const PrimFunc* f) {
  std::unordered_map<const Node*, int> launches;
  walk(f->body, [&launches](const Node* n) {
    if (const auto* a = as<AttrStmt>(n); a != nullptr && a->thread_var != nullptr) ++launches[a->thread_var];
    return !isa<Expr>(n);
  });
  for (const auto& [v, count] : launches)
    if (count > 1) env_threads_.insert(v);
}

void Printer::prim_func(std::string_view name, const PrimFunc* f) {
  if (too_deep()) return;
  ++depth_;
  names_.push();
  names_.reserve("range");
  bool saved_tir = in_tir_;
  in_tir_ = true;
  line(f);
  out_ += '@';
  t("prim_func");
  decorator_options({f->is_private() ? "private=True" : "", f->s_tir && current() ? "s_tir=True" : ""});
  line(f);
  out_ += "def ";
  out_ += name;
  Signature sig;
  std::vector<MatchedParam> to_match;
  if (current())
    prim_params(f, sig);
  else
    prim_params_old(f, to_match);
  FunctionState* saved_outer = function_;
  FunctionState state;
  state.depth = names_.depth();
  function_ = &state;
  ++indent_;
  func_attr(f, name, f->attrs);
  for (const MatchedParam& p : to_match) match_parameter(p);
  state.at = mark();
  collect_env_threads(f);
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
  function_ = saved_outer;
  names_.pop();
  leave_symbols(sig);
  met_.clear();
  open_offsets_.clear();
  env_threads_.clear();
  in_tir_ = saved_tir;
  --depth_;
  keep_type_vars(sig);
}

}  // namespace rldb::ir::print_detail
