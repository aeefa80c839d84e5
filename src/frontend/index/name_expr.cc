// Expressions, dimensions and tokens of a NameWalk.
#include <algorithm>
#include <utility>

#include "frontend/cst/literal.h"
#include "frontend/index/name_walk.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/runtime/dtype.h"

namespace rldb::frontend {

using cst::Field;
using cst::Kind;

namespace {

TextRange range_at(cst::Node n) { return n ? TextRange{n.row().begin, n.row().end} : TextRange{}; }

std::string_view tail_of(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

// Types of Relax and of TensorIR, by their names after the prefix.
bool names_type(std::string_view name) {
  for (const std::string_view type : {"Tensor", "DTensor", "Shape", "Prim", "Any", "Object", "Tuple", "Callable",
                                      "PackedFunc", "Buffer", "Ptr", "handle", "let"})
    if (name == type) return true;
  return runtime::parse_dtype(name).has_value();
}

// Attributes of functions whose keys or items are names of symbolic variables.
bool names_symbols(std::string_view attribute) {
  return attribute == attr_name::TirVarUpperBound || attribute == attr_name::TirVarLowerBound ||
         attribute == attr_name::TirNonNegativeVar || attribute == attr_name::CaptureSymbolicVars;
}

// Between the quotes.
TextRange body_of(cst::Node string, const cst::StringLiteral& text) {
  const std::uint32_t begin = string.row().begin + text.offset;
  return {begin, static_cast<std::uint32_t>(begin + text.body.size())};
}

// Types whose first argument is a shape.
bool begins_with_shape(std::string_view name) {
  return name == "Tensor" || name == "DTensor" || name == "Shape" || name == "Buffer" || name == "Prim" ||
         name == "shape";
}

bool is_dims_keyword(std::string_view name) {
  return name == "shape" || name == "values" || name == "value" || name == "strides" || name == "elem_offset";
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (c & 0x80) != 0;
}

}  // namespace

std::uint32_t NameWalk::add_definition(NameKind kind, TextRange at, std::string_view name, TextRange whole,
                                       std::uint32_t owner) {
  const auto made = static_cast<std::uint32_t>(out_.definitions_.size());
  out_.definitions_.push_back({kind, std::string(name), at, whole, whole, owner, made});
  bound_.push_back(false);
  loose_.push_back(false);
  return made;
}

std::uint32_t NameWalk::define(NameKind kind, TextRange at, std::string_view name, TextRange whole, Scope& scope) {
  const std::uint32_t made = add_definition(kind, at, name, whole, scope.owner);
  out_.definitions_[made].visible = {at.end, scope.range.end};
  scope.names[name] = made;
  mark(at, MarkKind::Definition, made);
  return made;
}

std::uint32_t NameWalk::find(std::string_view name, const Scope& scope) const {
  for (const Scope* s = &scope; s; s = s->outer)
    if (const auto it = s->names.find(name); it != s->names.end()) return it->second;
  // The scopes of a statement by itself are where definitions are visible.
  if (alone_at_)
    for (auto i = static_cast<std::uint32_t>(out_.definitions_.size()); i-- > 0;) {
      const NameDefinition& d = out_.definitions_[i];
      const bool is_local = d.owner != kNoName && out_.definitions_[d.owner].kind != NameKind::Module;
      if (is_local && d.visible.touches(*alone_at_) && d.kind != NameKind::Block && d.name == name) return i;
    }
  for (const Members* m : {static_cast<const Members*>(members_), &file_})
    if (const auto it = m->names.find(name); it != m->names.end()) return it->second;
  return kNoName;
}

void NameWalk::mark(TextRange at, MarkKind kind, std::uint32_t name) { out_.marks_.push_back({at, kind, name}); }

char NameWalk::space_of(std::string_view name) const {
  const auto it = spaces_.find(name);
  return it == spaces_.end() ? '\0' : it->second;
}

void NameWalk::use(TextRange at, std::string_view name, Scope& scope, MarkKind kind) {
  const std::uint32_t known = find(name, scope);
  if (known == kNoName && space_of(name) != '\0') return mark(at, MarkKind::Namespace);
  mark(at, kind, known);
}

// A dimension that is a variable alone binds it, where dimensions do.
void NameWalk::use_dim(TextRange at, std::string_view name, bool alone, Scope& scope) {
  std::uint32_t known = find(name, scope);
  if (known == kNoName && dims_ == Dims::Signature) {
    known = define(NameKind::Symbol, at, name, at, scope);
    bound_[known] = alone;
    loose_[known] = !alone;
    return;
  }
  if (known != kNoName && out_.definitions_[known].kind == NameKind::Symbol && dims_ != Dims::Use && alone &&
      !bound_[known]) {
    NameDefinition& d = out_.definitions_[known];
    bound_[known] = true;
    if (loose_[known]) {
      loose_[known] = false;
      // That place only declares it, or is a part of a larger dimension.
      for (auto m = out_.marks_.rbegin(); m != out_.marks_.rend(); ++m)
        if (m->at == d.at) {
          m->kind = d.whole == d.at ? MarkKind::Read : MarkKind::Declaration;
          break;
        }
      d.at = at;
    }
  }
  use(at, name, scope);
}

void NameWalk::walk_expr(Node e, Scope& scope) {
  if (!e) return;
  if (e.is(Kind::Identifier)) return use(range_at(e), e.text(), scope);
  if (e.is(Kind::Attribute)) return walk_attribute(e, scope);
  if (e.is(Kind::Call)) return walk_call(e, scope);
  if (e.is(Kind::Subscript)) return walk_subscript(e, scope);
  if (e.is(Kind::String) || e.is(Kind::UnterminatedString)) return mark(range_at(e), MarkKind::String);
  if (e.is(Kind::Integer) || e.is(Kind::Float)) return mark(range_at(e), MarkKind::Number);
  if (e.is(Kind::Arguments)) return walk_arguments(e, scope, false);
  if (e.is(Kind::KeywordArgument)) {
    mark(range_at(e.child(Field::Name)), MarkKind::Keyword);
    return walk_expr(e.child(Field::Value), scope);
  }
  if (e.is(Kind::Decorator)) {
    const std::size_t before = out_.marks_.size();
    walk_expr(e.child(Field::Value), scope);
    for (std::size_t i = before; i < out_.marks_.size(); ++i)
      if (out_.marks_[i].kind == MarkKind::Builtin) out_.marks_[i].kind = MarkKind::Decorator;
    return;
  }
  if (e.is(Kind::Lambda) || e.is(Kind::ListComprehension) || e.is(Kind::SetComprehension) ||
      e.is(Kind::DictionaryComprehension) || e.is(Kind::GeneratorExpression))
    return walk_scoped(e, scope);
  for (Node c : e.children())
    if (c.field() != Field::Operator) walk_expr(c, scope);
}

void NameWalk::walk_scoped(Node e, Scope& scope) {
  Scope inner;
  inner.outer = &scope;
  inner.owner = scope.owner;
  inner.tensor_ir = scope.tensor_ir;
  inner.range = range_at(e);
  const auto bind = [&](Node t) {
    if (t.is(Kind::Identifier)) define(NameKind::LoopVariable, range_at(t), t.text(), range_at(e), inner);
  };
  for (Node c : e.children()) {
    if (c.is(Kind::LambdaParameters))
      for (Node p : c.children()) bind(p.is(Kind::Identifier) ? p : p.child(Field::Name));
    if (!c.is(Kind::ForClause)) continue;
    bind(c.child(Field::Target));
    for (Node t : c.child(Field::Target).children()) bind(t);
  }
  for (Node c : e.children()) {
    if (c.is(Kind::LambdaParameters)) continue;
    if (!c.is(Kind::ForClause)) {
      walk_expr(c, inner);
      continue;
    }
    for (Node part : c.children())
      if (part.field() != Field::Target) walk_expr(part, inner);
  }
}

void NameWalk::walk_attribute(Node e, Scope& scope) {
  Node root = e;
  while (root.is(Kind::Attribute)) root = root.child(Field::Object);
  const Node object = e.child(Field::Object), attribute = e.child(Field::Attribute);
  if (!attribute) return walk_expr(object, scope);  // damaged text: a dot with nothing behind it
  const std::uint32_t known = root.is(Kind::Identifier) ? find(root.text(), scope) : kNoName;
  if (root.is(Kind::Identifier) && known == kNoName) {
    // cls.f, Module.f
    const std::vector<std::string_view>& aliases = members_->aliases;
    const bool of_module = root.text() == "cls" || root.text() == "self" || root.text() == members_->name ||
                           std::find(aliases.begin(), aliases.end(), root.text()) != aliases.end();
    if (of_module && root.index() == object.index()) {
      const auto it = members_->names.find(attribute.text());
      if (root.text() == members_->name)
        mark(range_at(root), MarkKind::Read, members_->module);
      else
        mark(range_at(root), MarkKind::Namespace);
      return mark(range_at(attribute), it == members_->names.end() ? MarkKind::Attribute : MarkKind::Read,
                  it == members_->names.end() ? kNoName : it->second);
    }
    if (space_of(root.text()) != '\0') {
      mark(range_at(root), MarkKind::Namespace);
      const std::uint32_t begin = root.row().end + 1;
      if (begin < attribute.row().end)
        mark({begin, attribute.row().end}, names_type(attribute.text()) ? MarkKind::Type : MarkKind::Builtin);
      return;
    }
  }
  walk_expr(object, scope);
  if (attribute) mark(range_at(attribute), MarkKind::Attribute);
}

void NameWalk::walk_call(Node e, Scope& scope) {
  const Node function = e.child(Field::Function);
  walk_expr(function, scope);
  const Node arguments = e.child(Field::Arguments);
  const std::string_view name = tail_of(function.text());
  const bool dotted = function.is(Kind::Attribute);
  if (dotted && name == "func_attr") return walk_function_attributes(arguments, scope);
  if (dotted && name == "match_buffer") {  // the buffer's handle comes before its shape
    bool shape = false;
    for (Node a : arguments.children()) {
      if (a.is(Kind::KeywordArgument)) {
        mark(range_at(a.child(Field::Name)), MarkKind::Keyword);
        is_dims_keyword(a.child(Field::Name).text()) ? walk_dims(a.child(Field::Value), scope)
                                                     : walk_expr(a.child(Field::Value), scope);
      } else {
        shape ? walk_dims(a, scope) : walk_expr(a, scope);
        shape = !shape && a.index() == arguments.first().index();
      }
    }
    return;
  }
  walk_arguments(arguments, scope, dotted && begins_with_shape(name));
}

void NameWalk::walk_arguments(Node arguments, Scope& scope, bool dims_first) {
  bool first = true;
  for (Node a : arguments.children()) {
    if (a.is(Kind::KeywordArgument)) {
      mark(range_at(a.child(Field::Name)), MarkKind::Keyword);
      const Node value = a.child(Field::Value);
      dims_first&& is_dims_keyword(a.child(Field::Name).text()) ? walk_dims(value, scope) : walk_expr(value, scope);
    } else {
      first&& dims_first ? walk_dims(a, scope) : walk_expr(a, scope);
    }
    first = false;
  }
}

// R.Tensor[(n, k), "float32"] of RFC 0089
void NameWalk::walk_subscript(Node e, Scope& scope) {
  const Node object = e.child(Field::Object);
  walk_expr(object, scope);
  const bool type = object.is(Kind::Attribute) && begins_with_shape(tail_of(object.text()));
  bool first = true;
  for (Node c : e.children()) {
    if (c.field() != Field::Index) continue;
    type&& first ? walk_dims(c, scope) : walk_expr(c, scope);
    first = false;
  }
}

void NameWalk::walk_dims(Node e, Scope& scope) {
  if (e.is(Kind::Tuple) || e.is(Kind::List) || e.is(Kind::Parenthesized)) {
    for (Node c : e.children()) walk_dims(c, scope);
  } else if (e.is(Kind::String)) {
    walk_dim_string(e, scope);
  } else if (e.is(Kind::Identifier)) {
    if (e.text() != "_") use_dim(range_at(e), e.text(), true, scope);
  } else {
    walk_expr(e, scope);
  }
}

// "n", "n + 1", "T.max(n, 2)"
void NameWalk::walk_dim_string(Node e, Scope& scope) {
  const cst::StringLiteral literal = cst::split_string(e.text());
  if (!literal.plain || literal.formatted || literal.bytes) return mark(range_at(e), MarkKind::String);
  const std::string_view body = literal.body;
  const std::uint32_t base = e.row().begin + literal.offset;
  const bool alone = !body.empty() && std::find_if_not(body.begin(), body.end(), is_word) == body.end();
  if (runtime::parse_dtype(body)) return mark(range_at(e), MarkKind::String);
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] == '"' || body[at] == '\'') {  // T.Cast("int64", n)
      at = std::min(body.find(body[at], at + 1), body.size() - 1) + 1;
      continue;
    }
    std::size_t end = at;
    while (end < body.size() && is_word(body[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const bool number = body[at] >= '0' && body[at] <= '9';
    const bool part = (at > 0 && body[at - 1] == '.') || (end < body.size() && (body[end] == '.' || body[end] == '('));
    if (!number && !part)
      use_dim({static_cast<std::uint32_t>(base + at), static_cast<std::uint32_t>(base + end)},
              body.substr(at, end - at), alone, scope);
    at = end;
  }
}

// R.func_attr({"global_symbol": "main", "tir_var_upper_bound": {"n": 64}}) names the function and its symbols.
void NameWalk::walk_function_attributes(Node arguments, Scope& scope) {
  const std::size_t first = out_.marks_.size();
  walk_arguments(arguments, scope, false);
  if (scope.owner == kNoName) return;
  for (Node pair : arguments.first().children()) {
    const Node key = pair.child(Field::Key), value = pair.child(Field::Value);
    if (!pair.is(Kind::Pair) || !key.is(Kind::String)) continue;
    const std::string_view attribute = cst::split_string(key.text()).body;
    if (attribute == attr_name::GlobalSymbol)
      mark_global_symbol(value, first, scope);
    else if (names_symbols(attribute))
      note_symbol_names(value, first, scope);
  }
}

void NameWalk::mark_global_symbol(Node value, std::size_t first, Scope& scope) {
  if (!value.is(Kind::String)) return;
  const cst::StringLiteral text = cst::split_string(value.text());
  if (text.body != out_.definitions_[scope.owner].name) return;
  const TextRange whole = range_at(value), name = body_of(value, text);
  for (std::size_t i = first; i < out_.marks_.size(); ++i)
    if (out_.marks_[i].at == whole) out_.marks_[i] = {name, MarkKind::Read, scope.owner};
}

// The keys of a dictionary, the items of a list.
void NameWalk::note_symbol_names(Node value, std::size_t first, const Scope& scope) {
  for (Node item : value.children()) {
    const Node name = item.is(Kind::Pair) ? item.child(Field::Key) : item;
    if (!name.is(Kind::String)) continue;
    const cst::StringLiteral text = cst::split_string(name.text());
    if (!text.plain || text.formatted || text.bytes) continue;
    const TextRange whole = range_at(name);
    for (std::size_t i = first; i < out_.marks_.size(); ++i)
      if (out_.marks_[i].at == whole) symbol_names_.push_back({i, body_of(name, text), text.body, scope.owner});
  }
}

// All names of the function are known.
void NameWalk::mark_symbol_names(const Scope& function) {
  const auto of_function = [&](const SymbolName& s) { return s.owner == function.owner; };
  for (const SymbolName& s : symbol_names_) {
    if (!of_function(s)) continue;
    const auto known = function.names.find(s.text);
    if (known == function.names.end() || out_.definitions_[known->second].kind != NameKind::Symbol) continue;
    out_.marks_[s.mark] = {s.name, MarkKind::Read, known->second, true};
  }
  std::erase_if(symbol_names_, of_function);
}

}  // namespace rldb::frontend
