// Classes, files and entries at the prompt: members are found first, then their signatures, then their bodies.
//
// It is long because a member is read where it is first needed: headers, bodies and edits of both ask each other.
#include "frontend/script/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "frontend/cst/header.h"
#include "frontend/script/limits.h"
#include "frontend/script/metadata.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/trailing_scalars.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/text.h"

namespace rldb::frontend::script {

Member::Member() = default;
Member::~Member() = default;

const Member& ModuleState::first_member() const {
  const Member* first = nullptr;
  for (const Member& m : members)
    if (!m.gone && (!first || m.span.begin < first->span.begin)) first = &m;
  return *first;
}

source::Message undecorated_function(std::string_view name) {
  return source::message(diag::UndecoratedFunction, name).with_hint("put `@R.function` or `@T.prim_func` above it");
}

bool lacks_decorator(std::string_view body_of_class) { return body_of_class.find('@') != std::string_view::npos; }

source::Message undecorated_module(std::string_view name) {
  return source::message(diag::UndecoratedModule, name).with_hint("put `@I.ir_module` above it");
}

bool is_function(Kind k) { return k == Kind::RelaxFunction || k == Kind::PrimFunc || k == Kind::PythonFunction; }

void Reader::note_lost_callee() {
  lost_callee = true;
  if (memo) memo->read_always();
}

void Reader::note_lost_parameter() {
  if (module && !module->reading.empty()) module->reading.back()->lost_parameters = true;
}

namespace {

// Reading a callee on behalf of a caller nests C++ calls; a longer chain falls back to the types in signatures.
constexpr int kMaxDemandDepth = 24;

const ir::FuncType* signature_type(Reader& r, const Signature& s, const ir::Type* ret) {
  std::vector<const ir::Type*> params;
  for (const ir::Var* p : s.params) params.push_back(p->type);
  return r.ctx.func_type(params, ret, s.options.pure);
}

// Nothing is known about a function whose header does not parse: neither it nor its calls are checked.
bool is_unread(Node function) {
  return function.is(Kind::PrimFunc) ? cst::holds_damaged_header(function) : cst::has_damaged_header(function);
}

void read_member_signature(Reader& r, Member& m) {
  m.in_signature = true;
  FunctionState* const before = std::exchange(r.fn, nullptr);
  const ErrorsSince errors = r.errors();
  read_signature(r, m.node, nullptr, *m.signature);
  m.broken_signature = errors.any();
  r.fn = before;
  m.in_signature = false;
  m.declared = m.signature->ret ? signature_type(r, *m.signature, m.signature->ret) : nullptr;
}

void ensure_signature(Reader& r, Member& m) {
  if (m.signature) return;
  m.signature = std::make_unique<Signature>();
  read_member_signature(r, m);
}

// The header was edited: variables that it still has stay the same, for the statements of the body.
void read_signature_again(Reader& r, Member& m) {
  FunctionState& fn = *m.signature->state;
  fn.spare_variables = m.signature->params;
  for (const auto& [name, symbol] : fn.symbols)
    if (std::find(m.signature->params.begin(), m.signature->params.end(), symbol.var) == m.signature->params.end())
      fn.spare_variables.push_back(symbol.var);
  fn.symbols.clear();
  fn.symbol_dtypes.clear();
  fn.scope.rewind({});
  m.signature->params.clear();
  m.signature->ret = nullptr;
  read_member_signature(r, m);
  fn.spare_variables.clear();
  m.memo->start();
}

const ir::Function* read_member_body(Reader& r, Member& m) {
  if (r.remember && !m.memo) {
    m.memo = std::make_unique<BodyMemo>(m.signature->state.get());
    m.memo->start();
  }
  BodyMemo* const before = std::exchange(r.memo, m.memo.get());
  if (m.memo) m.memo->begin(!m.keep_statements);
  const ir::Function* f = read_body(r, m.node, *m.signature, true);
  r.memo = before;
  return f;
}

void read_relax_member(Reader& r, Member& m) {
  ensure_signature(r, m);
  m.state = Member::State::Reading;
  m.signature->may_refine = m.var == nullptr;
  const ErrorsSince errors = r.errors();
  const ir::Function* f = read_member_body(r, m);
  const bool clean = !errors.any();
  // A cycle of functions without return annotations: its first reading assumed the result to be anything. (An edit that
  // makes one is read as a whole: what it kept of the statements is used up now.)
  if (m.recursive && !m.declared && f && clean && f->ret_type != r.ctx.any() && !m.keep_statements) {
    const ir::Type* learnt = f->ret_type;
    m.memo.reset();
    m.signature.reset();
    ensure_signature(r, m);
    m.declared = signature_type(r, *m.signature, learnt);
    m.var = nullptr;
    f = read_member_body(r, m);
  }
  if (m.declared && f && f->ret_type != m.declared->ret && !m.var)
    m.declared = signature_type(r, *m.signature, f->ret_type);
  m.function = f;
}

// A handle whose `T.match_buffer` could not be read looks like a scalar.
bool has_bare_handle(const ir::Expr* function) {
  const auto* f = ir::as<ir::PrimFunc>(function);
  return f && std::any_of(f->params.begin(), f->params.end(), [](const ir::PrimParam& p) {
           return !p.buffer && p.var->type->kind == ir::TypeKind::Pointer;
         });
}

void read_member(Reader& r, Member& m) {
  if (m.state != Member::State::Waiting) return;
  if (m.damaged_header) {
    m.broken = true;
    m.state = Member::State::Failed;
    return;
  }
  const ErrorsSince errors = r.errors();
  FunctionState* const before = std::exchange(r.fn, nullptr);
  const Expected::Scope none(r.expected);
  auto noted = std::exchange(r.noted_ops, {});
  auto unknown = std::exchange(r.unknown_names, {});
  const bool lost_callee = std::exchange(r.lost_callee, false);
  m.lost_parameters = false;
  ++r.module->reading_depth;
  r.module->reading.push_back(&m);
  if (m.node.is(Kind::RelaxFunction)) {
    read_relax_member(r, m);
  } else if (m.node.is(Kind::PrimFunc)) {
    m.state = Member::State::Reading;
    m.function = read_prim_func(r, m.node);
  } else if (m.node.is(Kind::PythonFunction)) {
    refuse_unknown_options(r, m.node);
    m.function = read_python_function(r, m.node);
  } else if (const Val v = eval(r, m.node); v.expr() && ir::isa<ir::ExternFunc>(v.expr())) {
    m.function = v.expr();  // name = R.ExternFunc(...)
  }
  --r.module->reading_depth;
  r.module->reading.pop_back();
  r.fn = before;
  r.noted_ops = std::move(noted);
  r.unknown_names = std::move(unknown);
  m.broken = errors.any() || m.broken_signature || m.node.damaged();
  m.lost_definitions = std::exchange(r.lost_callee, lost_callee);
  m.lost_parameters = m.lost_parameters || (m.broken && has_bare_handle(m.function));
  m.state = m.function ? Member::State::Done : Member::State::Failed;
}

// A cycle: each participant keeps its declared result, so that the order of reading does not matter.
void keep_declared(Reader& r, Member& m) {
  const auto first = std::find(r.module->reading.begin(), r.module->reading.end(), &m);
  for (auto it = first; it != r.module->reading.end(); ++it)
    if ((*it)->signature) (*it)->signature->may_refine = false;
}

// Reports about a member that cannot be read now depend on who requested it first: after an edit, all is read again.
void note_order(Reader& r, Member& m) {
  if (m.state != Member::State::Reading && r.module->reading_depth < kMaxDemandDepth) return;
  m.cyclic = true;
  for (Member* reading : r.module->reading) reading->cyclic = true;
}

const ir::GlobalVar* member_var(Reader& r, Member& m) {
  if (!r.module->reading.empty()) {
    std::vector<Member*>& callees = r.module->reading.back()->callees;
    if (std::find(callees.begin(), callees.end(), &m) == callees.end()) callees.push_back(&m);
  }
  note_order(r, m);
  if (m.var) return m.var;
  // Its own signature mentions it: there is no type yet (and no place for a function in a type).
  if (m.in_signature || m.damaged_header) return r.ctx.global_var(m.name, r.ctx.opaque_func_type());
  if (m.state == Member::State::Done) {
    m.var = r.ctx.global_var(m.name, m.declared ? m.declared : m.function->type);
    return m.var;
  }
  if (m.kind == Kind::RelaxFunction) {
    ensure_signature(r, m);
    // Read first even when annotated: the body may be more precise than the annotation, and callers see that.
    if (m.state == Member::State::Waiting && r.module->reading_depth < kMaxDemandDepth) {
      read_member(r, m);
      if (m.state == Member::State::Done) return member_var(r, m);
    }
    if (m.declared) {
      keep_declared(r, m);
      return m.var = r.ctx.global_var(m.name, m.declared);
    }
    m.recursive = true;
    return r.ctx.global_var(m.name, signature_type(r, *m.signature, r.ctx.any()));
  }
  if (m.state == Member::State::Waiting && r.module->reading_depth < kMaxDemandDepth) {
    read_member(r, m);
    if (m.state == Member::State::Done) return member_var(r, m);
  }
  return r.ctx.global_var(m.name, r.ctx.opaque_func_type());
}

Val global_of(Reader& r, std::string_view name) {
  if (r.module)
    if (const auto it = r.module->by_name.find(name); it != r.module->by_name.end())
      return Val::of(static_cast<const ir::Expr*>(member_var(r, *it->second)));
  if (r.env && r.env->module)
    if (const ir::Expr* f = r.env->module->find(name))
      return Val::of(static_cast<const ir::Expr*>(r.ctx.global_var(name, f->type)));
  return Val::nothing();
}

}  // namespace

Val module_name(Reader& r, std::string_view name, Node) {
  if (Val v = global_of(r, name); !v.is(ValKind::Nothing)) return v;
  const bool ours = r.module && r.module->name == name;
  const bool prompts = r.env && r.env->module && (name == "cls" || name == r.env->module->name);
  if (ours || prompts || (r.module && name == "cls")) return Val::of(ValKind::Module);
  return Val::nothing();
}

// `def f(`: f; also of a line with other damage. Empty: it is no such line.
static std::string_view name_of_header(std::string_view line) {
  if (!line.starts_with("def ")) return {};
  line = support::trim(line.substr(4));
  return line.substr(0, std::min(line.find_first_of("(:[ "), line.size()));
}

static bool is_name_character(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); }

// Damage cut the function's name in its header, which goes on with the rest of it: `def foo bar(` of `foo_bar`.
static bool goes_on_with(const Member& member, std::string_view text, std::string_view name) {
  if (!name.starts_with(member.name)) return false;
  const std::string_view rest = name.substr(member.name.size());
  const std::size_t begin = member.node.child(Field::Name).span().end;
  std::string_view line = text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
  while (!line.empty() && !is_name_character(line.front())) line.remove_prefix(1);
  const auto end = std::find_if_not(line.begin(), line.end(), is_name_character);
  line = line.substr(0, std::size_t(end - line.begin()));
  return !line.empty() && rest.ends_with(line) && rest.size() - line.size() <= 1;
}

// Whether the damage of a class may be that function: its header is in the text but no member, or has another name for
// the damage in it; or the line behind a decorator is no header.
static bool has_lost_function(const ModuleState& m, std::string_view text, std::string_view name) {
  if (m.lost_header) return true;
  for (const Member& member : m.members)
    if (member.damaged_header && (goes_on_with(member, text, name) || !source::nearest(name, {member.name}).empty()))
      return true;
  const std::string header = fmt::format("def {}(", name);
  bool decorated = false;
  for (std::size_t at = m.span.begin; at < m.span.end;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = support::trim(text.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.substr(0, line.find('#')).find(header) != std::string_view::npos) return true;
    if (decorated && !line.starts_with('@') && !m.by_name.contains(name_of_header(line))) return true;
    if (decorated && line.starts_with('@')) return true;
    decorated = line.starts_with('@') && line.find("func") != std::string_view::npos;
  }
  return decorated;
}

Val module_member(Reader& r, std::string_view name, Node at) {
  if (Val v = global_of(r, name); !v.is(ValKind::Nothing)) return v;
  // A function that damage elsewhere swallowed is no mistake of its callers.
  r.missed_member = true;
  if (r.module && r.module->damaged && has_lost_function(*r.module, r.text, name)) {
    r.note_lost_callee();
    return {};
  }
  std::vector<std::string_view> names;
  if (r.module)
    for (const Member& m : r.module->members)
      if (!m.gone) names.push_back(m.name);
  if (r.env && r.env->module)
    for (const ir::ModuleEntry& e : r.env->module->entries) names.push_back(e.name);
  const std::string_view near = source::nearest(name, names);
  return r.error_hint(at, near.empty() ? std::string() : fmt::format("did you mean `{}`?", near), diag::NoMember, name);
}

Val value_of_path(Reader& r, const Val& path) {
  (void)r;
  if (path.space == Space::Tir && path.text == "boolean") return Val::of_dtype(ir::DType::Bool());
  return path;
}

// ---- a class ----

void add_member(Reader& r, ModuleState& m, std::string_view name, Node name_node, Node node) {
  if (const auto it = m.by_name.find(name); it != m.by_name.end()) {
    source::Message msg = source::message(diag::RepeatedMember, name);
    msg.notes.push_back({it->second->node.child(Field::Name).span(), "defined before here"});
    r.report(name_node.span(), std::move(msg));
    m.lost_header = m.lost_header || is_unread(node);
    return;
  }
  m.members.emplace_back();
  Member& member = m.members.back();
  member.name = r.ctx.str(name);
  member.node = node;
  member.kind = node.kind();
  member.span = node.span();
  member.body = node.child(Field::Body).span().begin;
  member.damaged_header = is_unread(node);
  m.by_name.emplace(member.name, &member);
}

bool is_call_to(Reader& r, Node n, Space space, std::string_view name) {
  if (!n.is(Kind::Call)) return false;
  const Path p = path_of(r, n.child(Field::Function));
  return p.space == space && p.rest == name;
}

namespace {

void read_module_attrs(Reader& r, ModuleState& m, Node call_node) {
  for (Node a : call_node.child(Field::Arguments).children()) {
    const Val v = eval(r, a);
    if (!v.is(ValKind::Dict)) {
      if (!v.poison()) r.error(a, diag::ExpectedDictionary, describe(r, v));
      continue;
    }
    for (const ir::NamedAttr& f : to_fields(r, v, a)) m.attrs.push_back(f);
  }
}

void read_global_infos(Reader& r, ModuleState& m, Node call_node) {
  for (Node a : call_node.child(Field::Arguments).children()) {
    const Val v = eval(r, a);
    if (!v.is(ValKind::Dict)) {
      if (!v.poison()) r.error(a, diag::ExpectedDictionary, describe(r, v));
      continue;
    }
    for (const ir::NamedAttr& f : to_fields(r, v, a)) {
      if (!f.value->is(ir::AttrKind::List)) {
        r.error(a, diag::ExpectedList, f.name);
        continue;
      }
      m.infos.push_back({f.name, f.value->items});
      if (f.name != "vdevice") continue;
      for (const ir::Attr* item : f.value->items)
        if (const ir::VDevice* d = vdevice_of_attr(r, item)) {
          ir::VDevice placed = *d;
          placed.global_index = int(m.vdevices.size());
          m.vdevices.push_back(r.ctx.vdevice(placed));
        }
    }
  }
}

void collect_type_var(Reader& r, Node s) {
  const Node value = s.child(Field::Value);
  if (value.is(Kind::Call) && value.child(Field::Function).text().ends_with("TypeVar")) {
    const Node target = s.child(Field::Target);
    if (target.is(Kind::Identifier)) r.names.type_vars.insert(target.text());
  }
}

}  // namespace

bool is_type_var(Node s) {
  const Node value = s.child(Field::Value);
  return value.is(Kind::Call) && value.child(Field::Function).text().ends_with("TypeVar");
}

namespace {

// A class-level statement that is not a function.
void read_class_statement(Reader& r, ModuleState& m, Node s) {
  switch (cst::statement_kind(s.kind())) {
    case cst::StatementKind::ExpressionStatement: {
      const Node value = s.child(Field::Value);
      if (is_call_to(r, value, Space::Ir, "module_attrs")) return read_module_attrs(r, m, value);
      if (is_call_to(r, value, Space::Ir, "module_global_infos")) return;  // read before everything else
      if (value.is(Kind::String) || value.is(Kind::ConcatenatedString) || value.is(Kind::Ellipsis)) return;
      r.error(value, diag::UnsupportedHere, "an expression", "in a module");
      return;
    }
    case cst::StatementKind::Binding: {
      const Node target = s.child(Field::Target), value = s.child(Field::Value);
      if (is_type_var(s)) return;
      if (target.is(Kind::Identifier) && is_call_to(r, value, Space::Relax, "ExternFunc"))
        return add_member(r, m, target.text(), target, value);
      if (target.is(Kind::Identifier)) {
        const Val v = eval(r, value);
        r.names.scope.define(target.text(), within_limits(r, v, target.text(), target) ? v : Val(), target.span());
        return;
      }
      r.error(target, diag::BadTarget);
      return;
    }
    case cst::StatementKind::FunctionDefinition:
      // A plain method of a class derived from BasePyModule.
      if (m.node.child(Field::Superclasses)) {
        add_member(r, m, s.child(Field::Name).text(), s.child(Field::Name), s);
        return;
      }
      r.report(s.child(Field::Name).span(), undecorated_function(s.child(Field::Name).text()));
      return;
    case cst::StatementKind::MacroDefinition:
      return define_macro(r, s);
    case cst::StatementKind::UnexpectedIndent:
      // The rest may be a part of a function: its names are not those of the class.
      for (Node c : s.children()) {
        const Node value = c.child(Field::Value);
        if (is_function(c.kind())) {
          add_member(r, m, c.child(Field::Name).text(), c.child(Field::Name), c);
        } else if (c.is(Kind::UnexpectedIndent) || c.is(Kind::MacroDefinition) ||
                   is_call_to(r, value, Space::Relax, "ExternFunc") ||
                   is_call_to(r, value, Space::Ir, "module_attrs")) {
          read_class_statement(r, m, c);
        }
      }
      return;
    case cst::StatementKind::PassStatement:
    case cst::StatementKind::Damage:
      return;
#define RLDB_CST_STATEMENT(Kind, name, form, in_module, in_relax, in_tir, at_prompt) \
  RLDB_CST_ANSWER(CASE, in_module, case cst::StatementKind::Kind:)
#include "frontend/cst/node_kinds.def"
    case cst::StatementKind::Other:
      unsupported_statement(r, s, "in a module");
  }
}

void collect_members(Reader& r, ModuleState& m, Node body) {
  for (Node s : body.children())
    if (s.is(Kind::ExpressionStatement) && is_call_to(r, s.child(Field::Value), Space::Ir, "module_global_infos"))
      read_global_infos(r, m, s.child(Field::Value));
  for (Node s : body.children()) {
    if (is_function(s.kind())) {
      add_member(r, m, s.child(Field::Name).text(), s.child(Field::Name), s);
    } else if (!s.is(Kind::ExpressionStatement) ||
               !is_call_to(r, s.child(Field::Value), Space::Ir, "module_global_infos")) {
      read_class_statement(r, m, s);
    }
  }
}

}  // namespace

const ir::Module* build_module(Reader& r, ModuleState& m, bool& broken, ParseResult::Gaps& gaps) {
  for (Member& member : m.members) read_member(r, member);
  ir::ModuleBuilder builder(r.ctx);
  builder.set_name(r.ctx.str(m.name));
  for (Member& member : m.members) {
    broken = broken || member.broken;
    if (member.function) builder.set(member.name, member.function);
    if (member.function && member.lost_parameters) gaps.parameters.push_back(member.function);
    if (member.function && member.lost_definitions) gaps.definitions.push_back(member.function);
  }
  builder.set_attrs(r.ctx.list(m.attrs));
  if (!m.infos.empty()) builder.set_global_infos(r.ctx.list(m.infos), r.ctx.list(m.vdevices));
  return builder.build();
}

void leave_unread(Member& m, Node node) {
  m.span = node.span();
  m.body = node.child(Field::Body).span().begin;
  m.state = Member::State::Failed;
  m.function = nullptr;
  m.var = nullptr;
  m.declared = nullptr;
  m.damaged_header = true;
  m.broken = true;
  m.lost_parameters = m.lost_definitions = false;
}

void read_again(Reader& r, Member& m, Node node, Keep keep) {
  if (is_unread(node)) {
    if (keep == Keep::Nothing) {
      m.memo.reset();
      m.signature.reset();
    }
    return leave_unread(m, node);
  }
  m.node = node;
  m.span = node.span();
  m.body = node.child(Field::Body).span().begin;
  m.state = Member::State::Waiting;
  m.function = nullptr;
  m.var = nullptr;
  m.recursive = false;
  m.damaged_header = false;
  m.keep_statements = keep != Keep::Nothing;
  r.expanded = 0;
  switch (keep) {
    case Keep::Signature:
      m.declared = m.signature->ret ? signature_type(r, *m.signature, m.signature->ret) : nullptr;
      break;
    case Keep::Statements:
      read_signature_again(r, m);
      break;
    case Keep::Nothing:
      m.memo.reset();
      m.signature.reset();
      m.declared = nullptr;
      m.callees.clear();
  }
  read_member(r, m);
  m.keep_statements = false;
  m.node = Node();
}

ParsedItem read_module(Reader& r, Node n, ParseResult::Gaps& gaps) {
  ModuleState& state = r.modules.emplace_back();
  state.name = n.child(Field::Name).text();
  state.node = n;
  state.span = n.span();
  state.damaged = n.damaged() || r.out.has_errors();
  const FunctionOptions options = read_function_options(r, n);
  refuse_unknown_options(r, n);
  state.s_tir = options.s_tir.value_or(false);
  state.check_well_formed = options.check_well_formed && r.options.check_well_formed;
  ModuleState* const before = std::exchange(r.module, &state);
  note_trailing_scalars(r, state, n.child(Field::Body));
  collect_members(r, state, n.child(Field::Body));
  ParsedItem item{};
  item.kind = ItemKind::Module;
  item.span = n.span();
  item.name = r.ctx.str(state.name);
  item.broken = n.damaged();
  item.module = build_module(r, state, item.broken, gaps);
  r.module = before;
  return item;
}

namespace {

// ---- a file ----

Space space_of_module(std::string_view dotted) {
  if (dotted == "relax" || dotted.ends_with(".relax")) return Space::Relax;
  if (dotted == "tir" || dotted == "tirx" || dotted.ends_with(".tir") || dotted.ends_with(".tirx") || dotted == "ty")
    return Space::Tir;
  if (dotted == "ir" || dotted.ends_with(".ir") || dotted == "script" || dotted.ends_with(".script")) return Space::Ir;
  if (dotted == "tvm") return Space::Tvm;
  return Space::Other;
}

}  // namespace

static void set_default_spaces(Imports& imports) {
  for (const auto& [name, space] : {std::pair<std::string_view, Space>{"R", Space::Relax},
                                    {"relax", Space::Relax},
                                    {"T", Space::Tir},
                                    {"Tx", Space::Tir},
                                    {"tir", Space::Tir},
                                    {"tirx", Space::Tir},
                                    {"ty", Space::Tir},
                                    {"I", Space::Ir},
                                    {"ir", Space::Ir},
                                    {"tvm", Space::Tvm}})
    imports.add(name, space);
}
void set_default_spaces(Reader& r) { set_default_spaces(r.imports); }

namespace {

void read_import(Imports& imports, Node s) {
  const bool from = s.is(Kind::ImportFromStatement);
  const std::string_view module = from ? s.child(Field::Module).text() : std::string_view();
  for (Node n : s.children()) {
    if (n.field() != Field::Name) continue;
    const Node name = n.is(Kind::AliasedImport) ? n.child(Field::Name) : n;
    const Node alias = n.is(Kind::AliasedImport) ? n.child(Field::Alias) : n;
    if (from &&
        (module == "tvm.script" || module == "tvm" || module == "tvm.script.parser" || module.ends_with("script"))) {
      const Space space = space_of_module(name.text());
      if (space != Space::Other) imports.add(alias.text(), space);
      if (name.text() == "tirx" && n.is(Kind::AliasedImport)) imports.note_tirx();
      if (name.text() == "tir" && n.is(Kind::AliasedImport)) imports.note_tir();
    } else if (!from) {
      const std::string_view root = name.text().substr(0, name.text().find('.'));
      if (n.is(Kind::AliasedImport)) {
        if (const Space space = space_of_module(name.text()); root == "tvm" && space != Space::Other)
          imports.add(alias.text(), space);
      }
    }
  }
}

// The header that TVM prints is a comment: `# from tvm.script import tirx as T`.
void read_comment_header(Imports& imports, std::string_view text) {
  const std::string_view head = text.substr(0, std::min<std::size_t>(text.size(), std::size_t(1) << 20));
  if (head.find("import tirx as T") != std::string_view::npos) imports.note_tirx();
  if (head.find("import tir as T") != std::string_view::npos) imports.note_tir();
}

// A value of a Python line at file level that is simple enough to read; anything else is left alone.
bool is_plain_value(Reader& r, Node n) {
  static constexpr Kind kLiterals[] = {Kind::Integer, Kind::Float, Kind::String, Kind::ConcatenatedString,
                                       Kind::Boolean, Kind::None};
  static constexpr Kind kCompound[] = {Kind::Tuple, Kind::List, Kind::Unary, Kind::Binary, Kind::Parenthesized};
  if (n.is(Kind::Identifier)) return find_name(r, n.text()) != nullptr;
  if (std::ranges::find(kLiterals, n.kind()) != std::end(kLiterals)) return true;
  if (std::ranges::find(kCompound, n.kind()) == std::end(kCompound)) return false;
  for (Node c : n.children())
    if (c.field() != Field::Operator && !is_plain_value(r, c)) return false;
  return true;
}

void read_file_binding(Reader& r, Node s, std::vector<const ir::Var*>* symbols) {
  const Node target = s.child(Field::Target), value = s.child(Field::Value);
  collect_type_var(r, s);
  if (!target.is(Kind::Identifier) || is_type_var(s)) return;
  if (target.text() == "metadata") return note_metadata(r, value);
  if (const auto dtype = symbol_declaration(r, value)) {
    const ir::Var* v = r.at(r.ctx.var(target.text(), r.ctx.prim(*dtype)), target);
    r.names.scope.define(v->name, Val::of(v), target.span());
    if (symbols) symbols->push_back(v);
    return;
  }
  if (!is_plain_value(r, value)) return;
  const Val v = eval(r, value);
  r.names.scope.define(target.text(), within_limits(r, v, target.text(), target) ? v : Val(), target.span());
}

}  // namespace

std::vector<Node> statements_of(const cst::Tree& tree) {
  std::vector<Node> out;
  const Node root(&tree, 0);
  for (Node s : root.children()) {
    if (s.is(Kind::UnexpectedIndent)) {
      for (Node c : s.children()) out.push_back(c);
    } else {
      out.push_back(s);
    }
  }
  return out;
}

Imports imports_of(const std::vector<Node>& imports, std::string_view text) {
  Imports out;
  set_default_spaces(out);
  read_comment_header(out, text);
  for (Node n : imports) read_import(out, n);
  return out;
}

// Imports, TypeVars and metadata determine how to read the rest, wherever they occur.
void read_preamble(Reader& r, const std::vector<Node>& statements) {
  set_default_spaces(r);
  read_comment_header(r.imports, r.text);
  for (Node s : statements) {
    if (s.is(Kind::ImportStatement) || s.is(Kind::ImportFromStatement)) read_import(r.imports, s);
    if (s.is(Kind::Binding)) {
      collect_type_var(r, s);
      if (s.child(Field::Target).text() == "metadata") note_metadata(r, s.child(Field::Value));
    }
    if (s.is(Kind::MacroDefinition)) define_macro(r, s);
    if (s.is(Kind::Module))
      for (Node c : s.child(Field::Body).children())
        if (c.is(Kind::Binding)) collect_type_var(r, c);
  }
}

namespace {

// A lone function is known by its global_symbol when that is not its `def` name; siblings call it by the latter.
void name_by_symbol(Reader& r, ModuleState& lone) {
  if (lone.members.size() != 1) return;
  Member& m = lone.members.front();
  const auto* f = ir::as<ir::Function>(m.function);
  const ir::Attr* symbol = f ? ir::find_attr(f->attrs, attr_name::GlobalSymbol) : nullptr;
  if (!symbol || !symbol->is(ir::AttrKind::String) || m.var) return;
  m.name = r.ctx.str(symbol->string);
}

}  // namespace

ParsedItem lone_item(const Member& m) {
  ParsedItem item{};
  item.kind = ItemKind::Function;
  item.span = m.span;
  item.name = m.name;
  item.function = m.function;
  item.broken = m.broken || !m.function;
  return item;
}

void add_lone_items(Reader& r, ModuleState& lone, ParseResult& out) {
  for (Member& m : lone.members) read_member(r, m);
  name_by_symbol(r, lone);
  for (const Member& m : lone.members) out.items.push_back(lone_item(m));
}

namespace {

bool is_tvm_class(Reader& r, Node n) {
  // Any class with a decorator ir_module or rewriter (a rewrite rule), and classes derived from BasePyModule.
  for (Node d : n.children()) {
    if (d.field() != Field::Decorator) continue;
    if (d.text().find("ir_module") != std::string_view::npos || d.text().find(".rewriter") != std::string_view::npos)
      return true;
  }
  (void)r;
  return n.child(Field::Superclasses).text().find("Module") != std::string_view::npos;
}

}  // namespace

void sort_items(ParseResult& out) {
  std::stable_sort(out.items.begin(), out.items.end(),
                   [](const ParsedItem& a, const ParsedItem& b) { return a.span.begin < b.span.begin; });
}

// `@tvm.register_func("name") def ...`: Python, which is not run.
static void warn_of_registration(Reader& r, Node s) {
  for (Node d : s.children()) {
    if (d.field() != Field::Decorator) continue;
    const std::string_view text = d.text();
    if (text.find("register_func") == std::string_view::npos &&
        text.find("register_global_func") == std::string_view::npos)
      continue;
    const std::size_t quote = text.find_first_of("\"'");
    const std::size_t end = quote == std::string_view::npos ? quote : text.find(text[quote], quote + 1);
    const std::string_view name =
        end == std::string_view::npos ? s.child(Field::Name).text() : text.substr(quote + 1, end - quote - 1);
    r.error(d, diag::RegisteredInPython, name, name);
  }
}

ParseResult read_file(Reader& r, const cst::Tree& tree) {
  ParseResult out;
  const std::vector<Node> statements = statements_of(tree);
  read_preamble(r, statements);
  ModuleState& lone = r.modules.emplace_back();
  lone.name = "Module";
  lone.span = {r.file, 0, static_cast<std::uint32_t>(r.text.size())};
  lone.check_well_formed = r.options.check_well_formed;
  r.module = &lone;
  bool saw_class = false;
  for (Node s : statements) {
    if (is_function(s.kind())) add_member(r, lone, s.child(Field::Name).text(), s.child(Field::Name), s);
    if (!is_function(s.kind())) warn_of_registration(r, s);
    if (s.is(Kind::Binding)) {
      if (s.child(Field::Target).is(Kind::Identifier) &&
          is_call_to(r, s.child(Field::Value), Space::Relax, "ExternFunc")) {
        add_member(r, lone, s.child(Field::Target).text(), s.child(Field::Target), s.child(Field::Value));
      } else {
        read_file_binding(r, s, nullptr);
      }
    }
  }
  for (Node s : statements) {
    if (!s.is(Kind::Module)) continue;
    if (!is_tvm_class(r, s)) {
      if (lacks_decorator(s.child(Field::Body).text()))
        r.report(s.child(Field::Name).span(), undecorated_module(s.child(Field::Name).text()));
      continue;
    }
    saw_class = true;
    out.items.push_back(read_module(r, s, out.gaps));
    if (!out.module) {
      out.module = out.items.back().module;
      out.check_well_formed = read_function_options(r, s).check_well_formed;
    }
  }
  add_lone_items(r, lone, out);
  if (!saw_class && !lone.members.empty()) {
    bool broken = false;
    out.module = build_module(r, lone, broken, out.gaps);
    if (lone.members.size() == 1 && !lone.members.front().damaged_header)
      out.check_well_formed = read_function_options(r, lone.members.front().node).check_well_formed;
  }
  r.module = nullptr;
  if (saw_class || lone.members.empty()) r.modules.pop_front();
  sort_items(out);
  if (out.items.empty() && !r.out.has_errors()) r.error(Node(&tree, 0), diag::NothingToRead);
  return out;
}

}  // namespace rldb::frontend::script
