// Modules, functions and statements of a NameWalk.
#include "frontend/index/name_walk.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "frontend/cst/literal.h"
#include "rldb/runtime/dtype.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend {

using cst::Field;
using cst::Kind;

namespace {

// Empty for a part that damage has taken.
TextRange range_of(cst::Node n) { return n ? TextRange{n.row().begin, n.row().end} : TextRange{}; }

bool is_script_class(cst::Node n) {
  for (cst::Node d : n.children())
    if (d.field() == Field::Decorator &&
        (d.text().find("ir_module") != std::string_view::npos || d.text().find(".rewriter") != std::string_view::npos))
      return true;
  return n.child(Field::Superclasses).text().find("Module") != std::string_view::npos;
}

std::string_view last_part(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

std::string_view callee_of(cst::Node value) {
  return value.is(Kind::Call) ? value.child(Field::Function).text() : std::string_view();
}

// `R.Tensor` of `R.Tensor((4,), "float32")`, of `R.Tensor[(4,), _]` and of `R.Tensor`
std::string_view callee_or_text(cst::Node type) {
  if (type.is(Kind::Call)) return type.child(Field::Function).text();
  return type.is(Kind::Subscript) ? type.child(Field::Object).text() : type.text();
}

bool makes_buffer(std::string_view callee) {
  for (const std::string_view maker :
       {"match_buffer", "Buffer", "alloc_buffer", "sblock_alloc_buffer", "decl_buffer", "alloc_shared", "alloc_local"})
    if (last_part(callee) == maker) return true;
  return false;
}

// n = T.int64(), n = T.var("int64"), n = TypeVar("n")
bool declares_symbol(cst::Node value) {
  const std::string_view callee = callee_of(value);
  if (callee.empty()) return false;
  const std::string_view last = last_part(callee);
  if (last == "var" || last == "Var" || last == "TypeVar" || last == "SizeVar") return true;
  return last != callee && value.child(Field::Arguments).children().empty() && runtime::parse_dtype(last).has_value();
}

bool is_script_function(Kind kind) {
  return kind == Kind::RelaxFunction || kind == Kind::PrimFunc || kind == Kind::MacroDefinition;
}

// Damage may have taken the name.
bool is_named_function(cst::Node n) { return is_script_function(n.kind()) && bool(n.child(Field::Name)); }

std::optional<NameKind> member_kind(Kind kind) {
  if (kind == Kind::RelaxFunction) return NameKind::RelaxFunction;
  if (kind == Kind::PrimFunc) return NameKind::PrimFunc;
  if (kind == Kind::PythonFunction) return NameKind::PythonFunction;
  if (kind == Kind::MacroDefinition) return NameKind::Macro;
  return std::nullopt;
}

}  // namespace

bool is_function(NameKind kind) {
  switch (kind) {
#define RLDB_NAME_KIND(Kind, word) \
  case NameKind::Kind:             \
    return false;
#define RLDB_NAME_FUNCTION(Kind, word) \
  case NameKind::Kind:                 \
    return true;
#include "rldb/frontend/name_kind.def"
  }
  return false;
}

std::string_view to_string(NameKind kind) {
  switch (kind) {
#define RLDB_NAME_KIND(Kind, word) \
  case NameKind::Kind:             \
    return word;
#include "rldb/frontend/name_kind.def"
  }
  return {};
}

NameWalk::NameWalk(const cst::Tree& tree, TextIndex& out) : tree_(tree), out_(out) {
  for (const auto& [name, space] : std::initializer_list<std::pair<std::string_view, char>>{{"R", 'R'},
                                                                                            {"relax", 'R'},
                                                                                            {"T", 'T'},
                                                                                            {"Tx", 'T'},
                                                                                            {"tir", 'T'},
                                                                                            {"tirx", 'T'},
                                                                                            {"ty", 'T'},
                                                                                            {"I", 'I'},
                                                                                            {"ir", 'I'},
                                                                                            {"tvm", 'M'}})
    spaces_[name] = space;
}

void NameWalk::note_import(Node statement) {
  for (Node n : statement.children()) {
    if (!n.is(Kind::AliasedImport)) continue;
    const std::string_view last = last_part(n.child(Field::Name).text());
    const auto known = spaces_.find(last);
    if (known != spaces_.end()) spaces_[n.child(Field::Alias).text()] = known->second;
  }
}

void NameWalk::walk_file() {
  if (tree_.rows.empty()) return;
  Scope file;
  file.range = {0, tree_.rows[0].end};
  std::vector<Node> statements;
  for (Node s : Node(&tree_, 0).children()) {
    if (!s.is(Kind::UnexpectedIndent))
      statements.push_back(s);
    else
      for (Node c : s.children()) statements.push_back(c);
  }
  members_ = &file_;
  for (Node s : statements) {
    if (s.is(Kind::ImportFromStatement) || s.is(Kind::ImportStatement)) note_import(s);
    if (s.is(Kind::Binding) && s.child(Field::Target).is(Kind::Identifier)) {
      const Node target = s.child(Field::Target);
      const bool symbol = declares_symbol(s.child(Field::Value));
      const bool external = last_part(callee_of(s.child(Field::Value))) == "ExternFunc";
      const std::uint32_t made = add_definition(external ? NameKind::External
                                                : symbol ? NameKind::Symbol
                                                         : NameKind::Constant,
                                                range_of(target), target.text(), range_of(s), kNoName);
      out_.definitions_[made].visible = file.range;
      file_.names[target.text()] = made;
    }
    if (is_named_function(s)) {
      const Node name = s.child(Field::Name);
      const std::uint32_t made =
          add_definition(*member_kind(s.kind()), range_of(name), name.text(), range_of(s), kNoName);
      out_.definitions_[made].visible = file.range;
      file_.names[name.text()] = made;
      file_.by_place.emplace(name.row().begin, made);
    }
  }
  for (Node s : statements) {
    support::poll();
    if (s.is(Kind::Module) && is_script_class(s)) {
      out_.regions_.push_back(range_of(s));
      walk_module(s);
    } else if (is_named_function(s)) {
      out_.regions_.push_back(range_of(s));
      walk_function(s, nullptr, file_.by_place.at(s.child(Field::Name).row().begin));
    }
  }
  for (const auto& [name, space] : spaces_) out_.surroundings_.spaces.emplace(name, space);
  finish();
}

void NameWalk::walk_alone(Node binding, std::uint32_t owner) {
  alone_at_ = binding.row().begin;
  for (const auto& [name, space] : out_.surroundings_.spaces) spaces_[name] = space;
  bound_.assign(out_.definitions_.size(), true);
  loose_.assign(out_.definitions_.size(), false);
  Members members;
  members_ = &members;
  for (std::uint32_t i = 0; i < out_.definitions_.size(); ++i)
    if (out_.definitions_[i].owner == kNoName && out_.definitions_[i].kind != NameKind::Module)
      file_.names.emplace(out_.definitions_[i].name, i);
  std::uint32_t module = owner;
  while (module != kNoName && out_.definitions_[module].kind != NameKind::Module)
    module = out_.definitions_[module].owner;
  if (module != kNoName) {
    members.name = out_.definitions_[module].name;
    members.module = module;
    for (std::uint32_t i = 0; i < out_.definitions_.size(); ++i)
      if (out_.definitions_[i].owner == module) members.names.emplace(out_.definitions_[i].name, i);
    for (const auto& [of, alias] : out_.surroundings_.aliases)
      if (of == module) members.aliases.push_back(alias);
  }
  Scope scope;
  scope.owner = owner;
  scope.function = true;
  scope.range = {binding.row().begin, binding.row().end};
  walk_binding(binding, scope);
  finish();
}

void NameWalk::walk_module(Node n) {
  const Node name = n.child(Field::Name);
  const std::uint32_t module = add_definition(NameKind::Module, range_of(name), name.text(), range_of(n), kNoName);
  out_.definitions_[module].visible = {0, tree_.rows[0].end};
  mark(range_of(name), MarkKind::Definition, module);
  Scope file;
  for (Node d : n.children())
    if (d.field() == Field::Decorator) walk_expr(d, file);
  Members members;
  members.name = name.text();
  members.module = module;
  const Node body = n.child(Field::Body);
  add_members(body, module, members);
  Members* const before = std::exchange(members_, &members);
  walk_members(body, module);
  members_ = before;
  for (const std::string_view alias : members.aliases) out_.surroundings_.aliases.emplace_back(module, alias);
}

void NameWalk::add_members(Node body, std::uint32_t owner, Members& members) {
  for (Node s : body.children()) {
    Node name = s.child(Field::Name);
    std::optional<NameKind> kind = member_kind(s.kind());
    if (s.is(Kind::Binding) && s.child(Field::Target).is(Kind::Identifier)) {
      name = s.child(Field::Target);
      kind = last_part(callee_of(s.child(Field::Value))) == "ExternFunc" ? NameKind::External
             : declares_symbol(s.child(Field::Value))                    ? NameKind::Symbol
                                                                         : NameKind::Constant;
    }
    if (!kind || !name) continue;
    const std::uint32_t made = add_definition(*kind, range_of(name), name.text(), range_of(s), owner);
    out_.definitions_[made].visible = range_of(body);
    // Of two members of a name the first is meant; the other is an error.
    members.names.emplace(name.text(), made);
    members.by_place.emplace(name.row().begin, made);
    if (!is_script_function(s.kind())) mark(range_of(name), MarkKind::Definition, made);
  }
}

void NameWalk::walk_members(Node body, std::uint32_t owner) {
  Scope scope;
  scope.owner = owner;
  scope.range = range_of(body);
  for (Node s : body.children()) {
    support::poll();
    if (is_named_function(s)) {
      const auto made = members_->by_place.find(s.child(Field::Name).row().begin);
      if (made != members_->by_place.end()) walk_function(s, nullptr, made->second);
    } else if (s.is(Kind::Binding)) {
      walk_expr(s.child(Field::Value), scope);
    } else if (s.is(Kind::ExpressionStatement)) {
      walk_expr(s.child(Field::Value), scope);
    }
  }
}

void NameWalk::walk_function(Node n, Scope* outer, std::uint32_t name) {
  mark(range_of(n.child(Field::Name)), MarkKind::Definition, name);
  Scope scope;
  scope.outer = outer;
  scope.owner = name;
  scope.function = true;
  scope.tensor_ir = n.is(Kind::PrimFunc);
  scope.range = range_of(n);
  walk_signature(n, scope);
  walk_block(n.child(Field::Body), scope);
  mark_symbol_names(scope);
}

void NameWalk::walk_signature(Node n, Scope& scope) {
  for (Node d : n.children())
    if (d.field() == Field::Decorator) walk_expr(d, scope);
  const Dims before = std::exchange(dims_, Dims::Signature);
  for (Node t : n.child(Field::TypeParameters).children()) {
    const Node name = t.child(Field::Name);
    if (name) bound_[define(NameKind::Symbol, range_of(name), name.text(), range_of(t), scope)] = true;
  }
  // Dimensions may name scalar and shape parameters, also those that follow.
  const auto parameters = [&](bool tensors) {
    for (Node p : n.child(Field::Parameters).children()) {
      const std::string_view type = callee_or_text(p.child(Field::Annotation));
      const bool tensor =
          type.find(".Tensor") != std::string_view::npos || type.find("Buffer") != std::string_view::npos;
      if (const Node name = p.child(Field::Name); name && tensor == tensors)
        define(type.ends_with("Buffer") ? NameKind::Buffer : NameKind::Parameter, range_of(name), name.text(),
               range_of(p), scope);
    }
  };
  parameters(false);
  for (Node p : n.child(Field::Parameters).children()) {
    if (const Node a = p.child(Field::Annotation)) walk_expr(a, scope);
    if (const Node d = p.child(Field::Default)) walk_expr(d, scope);
  }
  parameters(true);
  if (const Node ret = n.child(Field::ReturnType)) walk_expr(ret, scope);
  dims_ = before;
}

void NameWalk::walk_block(Node block, Scope& scope) {
  for (Node s : block.children()) {
    support::poll();
    walk_statement(s, scope);
  }
}

void NameWalk::walk_nested(Node body, Scope& scope, Scope& inner) {
  inner.outer = &scope;
  inner.owner = scope.owner;
  inner.tensor_ir = scope.tensor_ir;
  inner.range = range_of(body);
  walk_block(body, inner);
}

// Statements that define names or open a block; of the others, the expressions.
void NameWalk::walk_statement(Node s, Scope& scope) {
  if (s.is(Kind::Binding) || s.is(Kind::AxisBinding)) return walk_binding(s, scope);
  if (s.is(Kind::DataflowBlock)) return walk_dataflow(s, scope);
  if (s.is(Kind::IfStatement)) return walk_if(s, scope);
  if (s.is(Kind::Loop)) return walk_loop(s, scope);
  if (s.is(Kind::SBlock) || s.is(Kind::WithStatement) || s.is(Kind::InitBlock)) return walk_with(s, scope);
  if (is_named_function(s)) {
    const Node name = s.child(Field::Name);
    const std::uint32_t made = define(*member_kind(s.kind()), range_of(name), name.text(), range_of(s), scope);
    out_.marks_.pop_back();  // the function's walk marks it
    return walk_function(s, &scope, made);
  }
  if (s.is(Kind::WhileLoop)) {
    walk_expr(s.child(Field::Condition), scope);
    Scope inner;
    return walk_nested(s.child(Field::Body), scope, inner);
  }
  if (s.is(Kind::BufferStore) || s.is(Kind::AugmentedAssignment)) {
    const Node target = s.child(Field::Target);
    const Node object = target.is(Kind::Subscript) ? target.child(Field::Object) : target;
    for (Node c : s.children())
      if (c.index() != target.index() && c.field() != Field::Operator) walk_expr(c, scope);
    if (object.is(Kind::Identifier))
      use(range_of(object), object.text(), scope, MarkKind::Write);
    else
      walk_expr(object, scope);
    for (Node c : target.children())
      if (c.field() == Field::Index) walk_expr(c, scope);
    return;
  }
  if (s.is(Kind::Declaration)) {
    walk_expr(s.child(Field::Annotation), scope);
    return bind_target(s.child(Field::Target), Node(), s, scope);
  }
  for (Node c : s.children()) {
    if (c.is(Kind::Block)) {
      Scope inner;
      walk_nested(c, scope, inner);
    } else {
      walk_expr(c, scope);
    }
  }
}

void NameWalk::walk_binding(Node s, Scope& scope) {
  const Node value = s.child(Field::Value);
  const Node target = s.child(Field::Target);
  if (walk_symbol_declaration(target, value, s, scope)) return;
  // cls = Module
  if (target.is(Kind::Identifier) && value.is(Kind::Identifier) && value.text() == members_->name &&
      find(value.text(), scope) == kNoName) {
    members_->aliases.push_back(target.text());
    mark(range_of(target), MarkKind::Namespace);
    return mark(range_of(value), MarkKind::Read, members_->module);
  }
  const std::string_view callee = callee_of(value);
  const Dims before = dims_;
  if (last_part(callee) == "match_cast" || last_part(callee) == "match_shape" || makes_buffer(callee))
    dims_ = Dims::Match;
  walk_expr(value, scope);
  dims_ = before;
  if (const Node a = s.child(Field::Annotation)) walk_expr(a, scope);
  for (Node t : s.children())
    if (t.field() == Field::Target) bind_target(t, value, s, scope);
}

// n = T.int64(), and n, m = T.int64(), T.int64()
bool NameWalk::walk_symbol_declaration(Node target, Node value, Node s, Scope& scope) {
  if (target.is(Kind::Tuple) && value.is(Kind::Tuple) && target.count() == value.count()) {
    for (Node v : value.children())
      if (!declares_symbol(v)) return false;
    auto v = value.children().begin();
    for (Node t : target.children()) {
      if (!t.is(Kind::Identifier)) return false;
      walk_symbol_declaration(t, *v, s, scope);
      ++v;
    }
    return target.count() > 0;
  }
  if (!target.is(Kind::Identifier) || !declares_symbol(value)) return false;
  walk_expr(value, scope);
  const std::uint32_t known = find(target.text(), scope);
  if (known != kNoName && out_.definitions_[known].kind == NameKind::Symbol) {
    mark(range_of(target), MarkKind::Declaration, known);
    return true;
  }
  const std::uint32_t made = define(NameKind::Symbol, range_of(target), target.text(), range_of(s), scope);
  loose_[made] = true;
  return true;
}

void NameWalk::bind_target(Node target, Node value, Node s, Scope& scope) {
  if (target.is(Kind::Tuple) || target.is(Kind::List) || target.is(Kind::Parenthesized)) {
    for (Node t : target.children()) bind_target(t, Node(), s, scope);
    return;
  }
  if (!target.is(Kind::Identifier)) return walk_expr(target, scope);
  const TextRange at = range_of(target);
  const bool buffer = makes_buffer(callee_of(value));
  const std::uint32_t known =
      scope.tensor_ir && !buffer && !s.is(Kind::AxisBinding) ? find(target.text(), scope) : kNoName;
  if (known != kNoName && !is_function(out_.definitions_[known].kind)) return mark(at, MarkKind::Write, known);
  const NameKind kind = s.is(Kind::AxisBinding) ? NameKind::LoopVariable
                        : buffer                ? NameKind::Buffer
                                                : NameKind::Variable;
  const std::uint32_t made = define(kind, at, target.text(), range_of(s), scope);
  // Not in its own statement, nor where that ends.
  if (!s.is(Kind::WithItem)) out_.definitions_[made].visible.begin = s.row().end + 1;
}

// Names that are no output end with the block.
void NameWalk::walk_dataflow(Node s, Scope& scope) {
  for (Node c : s.children())
    if (c.field() == Field::Item) walk_expr(c.child(Field::Value), scope);
  const Node body = s.child(Field::Body);
  std::vector<std::string_view> outputs;
  for (Node c : body.children()) {
    const Node value = c.child(Field::Value);
    const std::string_view callee = callee_of(value);
    if (!c.is(Kind::ExpressionStatement) || (last_part(callee) != "output" && last_part(callee) != "outputs")) continue;
    for (Node a : value.child(Field::Arguments).children()) outputs.push_back(a.text());
  }
  const std::size_t first = out_.definitions_.size();
  Scope inner;
  walk_nested(body, scope, inner);
  for (const auto& [name, made] : inner.names) {
    NameDefinition& d = out_.definitions_[made];
    if (std::find(outputs.begin(), outputs.end(), name) != outputs.end() || d.kind == NameKind::Symbol) {
      scope.names[name] = made;
      d.visible.end = scope.range.end;
    } else if (d.kind == NameKind::Variable) {
      d.kind = NameKind::DataflowVariable;
    }
  }
  // Names that were bound again within the block.
  for (std::size_t i = first; i < out_.definitions_.size(); ++i) {
    NameDefinition& d = out_.definitions_[i];
    if (d.kind == NameKind::Variable && d.visible.end == inner.range.end && d.owner == scope.owner)
      d.kind = NameKind::DataflowVariable;
  }
}

void NameWalk::walk_if(Node s, Scope& scope) {
  walk_expr(s.child(Field::Condition), scope);
  Scope yes;
  walk_nested(s.child(Field::Consequence), scope, yes);
  std::vector<Scope> others;
  others.reserve(s.count());
  bool has_else = false;
  for (Node c : s.children()) {
    if (c.is(Kind::ElifClause)) {
      walk_expr(c.child(Field::Condition), scope);
      walk_nested(c.child(Field::Consequence), scope, others.emplace_back());
    } else if (c.is(Kind::ElseClause)) {
      has_else = true;
      walk_nested(c.child(Field::Body), scope, others.emplace_back());
    }
  }
  if (scope.tensor_ir || !has_else) return;
  for (const auto& [name, made] : yes.names) {
    const bool everywhere =
        std::all_of(others.begin(), others.end(), [&](const Scope& o) { return o.names.count(name) > 0; });
    if (!everywhere) continue;
    for (const Scope& o : others) join(made, o.names.at(name));
    scope.names[name] = made;
    out_.definitions_[made].visible.end = scope.range.end;
  }
}

void NameWalk::walk_loop(Node s, Scope& scope) {
  walk_expr(s.child(Field::Iterator), scope);
  Scope inner;
  inner.outer = &scope;
  inner.owner = scope.owner;
  inner.tensor_ir = scope.tensor_ir;
  const Node body = s.child(Field::Body);
  inner.range = range_of(body);
  const Node target = s.child(Field::Target);
  const auto bind = [&](Node t) {
    if (t.is(Kind::Identifier)) define(NameKind::LoopVariable, range_of(t), t.text(), range_of(s), inner);
  };
  if (target) {  // damage may have taken it
    bind(target);
    for (Node t : target.children()) bind(t);
  }
  walk_block(body, inner);
}

void NameWalk::walk_with(Node s, Scope& scope) {
  Scope inner;
  inner.outer = &scope;
  inner.owner = scope.owner;
  inner.tensor_ir = scope.tensor_ir;
  const Node body = s.child(Field::Body);
  inner.range = range_of(body);
  for (Node item : s.children()) {
    if (item.field() != Field::Item) continue;
    const Node value = item.child(Field::Value);
    walk_expr(value, scope);
    const Node first = value.child(Field::Arguments).first();
    if (s.is(Kind::SBlock) && first.is(Kind::String)) {
      const cst::StringLiteral text = cst::split_string(first.text());
      const std::uint32_t begin = first.row().begin + text.offset;
      const auto end = static_cast<std::uint32_t>(begin + text.body.size());
      out_.marks_.pop_back();  // not a mere string
      mark({begin, end}, MarkKind::Definition,
           add_definition(NameKind::Block, {begin, end}, text.body, range_of(s), scope.owner));
    }
    const Node alias = item.child(Field::Alias);
    if (alias.is(Kind::Identifier)) bind_target(alias, value, item, inner);
    for (Node t : alias.children()) bind_target(t, Node(), item, inner);
  }
  walk_block(body, inner);
}

// The later definition counts as the earlier.
void NameWalk::join(std::uint32_t a, std::uint32_t b) {
  std::vector<NameDefinition>& all = out_.definitions_;
  while (all[a].joined != a) a = all[a].joined;
  while (all[b].joined != b) b = all[b].joined;
  all[std::max(a, b)].joined = std::min(a, b);
}

void NameWalk::finish() {
  std::vector<NameDefinition>& all = out_.definitions_;
  // Earlier ones have their final answer by then.
  for (NameDefinition& d : all) d.joined = all[d.joined].joined;
  for (NameMark& m : out_.marks_) {
    if (m.name == kNoName) continue;
    if (m.kind != MarkKind::Write && m.kind != MarkKind::Declaration)
      m.kind = m.at == all[m.name].at ? MarkKind::Definition : MarkKind::Read;
    else if (m.at == all[m.name].at)
      m.kind = MarkKind::Definition;
    m.name = all[m.name].joined;
  }
  std::stable_sort(out_.marks_.begin(), out_.marks_.end(),
                   [](const NameMark& a, const NameMark& b) { return a.at.begin < b.at.begin; });
}

}  // namespace rldb::frontend
