// Symbolic variables: declarations, and annotations written as strings.
#include "frontend/script/symbols.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cst/damage.h"
#include "frontend/cst/literal.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/expr.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

bool is_identifier(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (const char c : s) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<signed char>(c) < 0;
    if (!letter && !(c >= '0' && c <= '9')) return false;
  }
  return true;
}

const ir::Var* signature_variable(Reader& r, std::string_view name, const ir::Type* type, Node at) {
  std::vector<const ir::Var*>& spare = r.fn->spare_variables;
  const auto same =
      std::find_if(spare.begin(), spare.end(), [&](const ir::Var* v) { return v->name == name && v->type == type; });
  if (same == spare.end()) return r.at(r.ctx.var(name, type), at);
  const ir::Var* v = *same;
  spare.erase(same);
  return r.at(v, at);
}

const ir::Var* declare_symbol(Reader& r, std::string_view name, Node at) {
  for (FunctionState* f = r.fn; f; f = f->outer)
    if (const auto it = f->symbols.find(name); it != f->symbols.end()) return it->second.var;
  ir::DType dtype = ir::DType::Int(64);
  if (const auto it = r.fn->symbol_dtypes.find(name); it != r.fn->symbol_dtypes.end()) dtype = it->second;
  const ir::Var* v = signature_variable(r, name, r.ctx.prim(dtype), at);
  r.fn->symbols.emplace(v->name, Symbol{v, at.span()});
  r.fn->scope.define(v->name, Val::of(v), at.span());
  return v;
}

Val with_inner_tree(Reader& r, const Val& string, Node at, const std::function<Val(Node)>& f) {
  if (r.nesting.is_full()) return r.error(at, diag::NestedTooDeep, kMaxInnerDepth);
  const std::string_view text = string.text;
  cst::TreeOptions options;
  options.max_depth = 200;
  cst::Tree& tree = r.texts.keep(cst::parse_tree(r.file, text, options));
  // Offsets map one by one when the value is a piece of the file.
  const std::less_equal<const char*> le;
  if (le(r.text.data(), text.data()) && le(text.data() + text.size(), r.text.data() + r.text.size())) {
    tree.text_offset = static_cast<std::uint32_t>(text.data() - r.text.data());
  } else {
    tree.mapped = false;
    tree.whole = string.cst ? string.cst.span() : at.span();
  }
  const Node root(&tree, 0);
  if (cst::report_damage(tree, r.out)) return {};
  const Node statement = root.first();
  if (!statement.is(Kind::ExpressionStatement) || root.count() != 1)
    return r.error(at, diag::StringNotExpression, text);
  const Nesting::Level level(r.nesting);
  return f(statement.child(Field::Value));
}

Val eval_inner(Reader& r, const Val& string, Node at) {
  return with_inner_tree(r, string, at, [&](Node n) { return eval(r, n); });
}

namespace {

void string_in_body(Reader& r, Node at, std::string_view name) {
  std::string hint;
  if (is_identifier(name)) hint = fmt::format("declare it with `{0} = T.int64()` and write `{0}` without quotes", name);
  r.error_hint(at, std::move(hint), diag::StringInBody, name);
}

}  // namespace

const ir::Expr* symbol_expr(Reader& r, const Val& string, Node at, ir::DType ints) {
  const std::string_view name = string.text;
  if (!r.fn) {
    string_in_body(r, at, name);
    return nullptr;
  }
  if (is_identifier(name)) {
    if (const Val* v = find_name(r, name); v && v->expr() && is_scalar_expr(v->expr())) return v->expr();
    if (r.fn->in_signature) return declare_symbol(r, name, at);
    // A string in a body: legal only in signatures in TVM; the meaning is clear if the variable exists.
    string_in_body(r, at, name);
    return nullptr;
  }
  const Val v = eval_inner(r, string, at);
  return v.poison() ? nullptr : to_scalar(r, v, at, ints);
}

namespace {

// Names in dim positions of an annotation. Strings: identifiers only, compound ones use variables declared elsewhere.
void collect(Reader& r, Node n, bool bare) {
  if (n.is(Kind::String)) {
    const cst::StringLiteral s = cst::split_string(n.text());
    if (s.plain && is_identifier(s.body) && !runtime::parse_dtype(s.body)) {
      const Val* known = find_name(r, s.body);
      if (!known || !known->expr()) declare_symbol(r, s.body, n);
    }
    return;
  }
  if (n.is(Kind::Identifier)) {
    const bool type_var = r.names.type_vars.count(n.text()) > 0;
    const Val* known = find_name(r, n.text());
    if (known && known->expr()) return;
    if (type_var || (bare && n.text() != "_")) declare_symbol(r, n.text(), n);
    return;
  }
  if (n.is(Kind::KeywordArgument)) {
    const std::string_view name = n.child(Field::Name).text();
    // Names outside shapes are not variables.
    if (name != "shape" && name != "values" && name != "value" && name != "params" && name != "ret" &&
        name != "strides" && name != "elem_offset" && name != "fields")
      return;
    collect(r, n.child(Field::Value), bare);
    return;
  }
  if (n.is(Kind::Attribute)) return;
  if (n.is(Kind::Call)) {
    // The second positional argument of R.Tensor and T.Buffer is a dtype or a device, never a dim.
    const std::string_view callee = n.child(Field::Function).text();
    const bool first_only = callee.ends_with(".Tensor") || callee.ends_with(".Buffer") ||
                            callee.ends_with(".DTensor") || callee.ends_with(".Prim") || callee.ends_with(".handle");
    bool first = true;
    for (Node a : n.child(Field::Arguments).children()) {
      if (first || !first_only || a.is(Kind::KeywordArgument)) collect(r, a, bare);
      first = false;
    }
    return;
  }
  if (n.is(Kind::Subscript)) {
    bool first = true;
    for (Node c : n.children()) {
      if (c.field() != Field::Index) continue;
      const bool dims = first && !c.is(Kind::String);
      if (dims || !n.child(Field::Object).text().ends_with("Tensor")) collect(r, c, dims);
      first = false;
    }
    return;
  }
  for (Node c : n.children())
    if (c.field() != Field::Operator) collect(r, c, bare);
}

}  // namespace

void collect_signature_symbols(Reader& r, Node function) {
  for (Node t : function.child(Field::TypeParameters).children())
    if (Node name = t.child(Field::Name)) declare_symbol(r, name.text(), name);
  for (Node p : function.child(Field::Parameters).children())
    if (Node a = p.child(Field::Annotation)) collect(r, a, false);
  if (Node ret = function.child(Field::ReturnType)) collect(r, ret, false);
}

void collect_symbol_dtypes(Reader& r, Node body) {
  const auto note = [&](Node target, Node value) {
    if (!target.is(Kind::Identifier) || !value.is(Kind::Call) || !value.child(Field::Arguments).children().empty())
      return;
    const Path p = path_of(r, value.child(Field::Function));
    if (p.space != Space::Tir) return;
    if (const auto t = runtime::parse_dtype(p.rest); t && t->is_integral()) r.fn->symbol_dtypes[target.text()] = *t;
  };
  for (Node s : body.children()) {
    if (!s.is(Kind::Binding)) continue;
    const Node target = s.child(Field::Target), value = s.child(Field::Value);
    if (!target.is(Kind::Tuple) || !value.is(Kind::Tuple)) {
      note(target, value);
      continue;
    }
    auto v = value.children().begin();
    for (Node t : target.children()) {
      if (v == value.children().end()) break;
      note(t, *v);
      ++v;
    }
  }
}

}  // namespace rldb::frontend::script
