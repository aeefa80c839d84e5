// Classes: their members, attributes, global infos and TypeVars; and what an edit reads again.
#include "frontend/script/module.h"

#include "frontend/cst/node_kinds.def"
#include "frontend/script/limits.h"
#include "frontend/script/module_parts.h"
#include "frontend/script/trailing_scalars.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {
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
      if (std::any_of(m.infos.begin(), m.infos.end(), [&](const ir::GlobalInfo& i) { return i.key == f.name; })) {
        r.error(a, diag::RepeatedKey, f.name);
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

}  // namespace

void collect_type_var(Reader& r, Node s) {
  const Node value = s.child(Field::Value);
  if (value.is(Kind::Call) && value.child(Field::Function).text().ends_with("TypeVar")) {
    const Node target = s.child(Field::Target);
    if (target.is(Kind::Identifier)) r.names.type_vars.insert(target.text());
  }
}

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
      if (const Node name = s.child(Field::Name)) r.report(undecorated_function(r.text, s.span().begin, name.span()));
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

}  // namespace rldb::frontend::script
