// Members of a module on demand: their signatures, their bodies, and their names as values.
//
// A member is read where it is first needed: headers, bodies and edits of both ask each other.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "frontend/cst/header.h"
#include "frontend/cst/node_kinds.def"
#include "frontend/script/module.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/tir/tir.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
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

bool is_function(Kind k) { return k == Kind::RelaxFunction || k == Kind::PrimFunc || k == Kind::PythonFunction; }

void Reader::note_lost_callee() {
  lost_callee = true;
  if (memo) memo->read_always();
}

void Reader::note_lost_parameter() {
  if (module && !module->reading.empty()) module->reading.back()->lost_parameters = true;
}

const ir::FuncType* signature_type(Reader& r, const Signature& s, const ir::Type* ret) {
  std::vector<const ir::Type*> params;
  for (const ir::Var* p : s.params) params.push_back(p->type);
  return r.ctx.func_type(params, ret, s.options.pure);
}

bool is_unread(Node function) {
  return function.is(Kind::PrimFunc) ? cst::holds_damaged_header(function) : cst::has_damaged_header(function);
}

namespace {

// Reading a callee on behalf of a caller nests C++ calls; a longer chain falls back to the types in signatures.
constexpr int kMaxDemandDepth = 24;

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

}  // namespace

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

namespace {

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

}  // namespace

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

namespace {

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

}  // namespace rldb::frontend::script
