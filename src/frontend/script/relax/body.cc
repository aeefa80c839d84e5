// Statements of Relax functions: the walk over a body, expressions as statements, return.
#include "frontend/script/module.h"
#include "frontend/script/relax/body_reader.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/printer.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/support/cancel.h"

namespace rldb::frontend::script {

BlockResult BodyReader::function_body(Node block) {
  BlockResult result;
  std::vector<Node> statements;
  for (Node s : block.children()) statements.push_back(s);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const Node s = statements[i];
    if (result.returned) {
      if (s.is(Kind::ReturnStatement)) {
        r_.error(s, diag::SecondReturn);
      } else if (!s.is(Kind::Error) && !s.is(Kind::PassStatement)) {
        r_.error(s, diag::AfterReturn);
      }
      break;
    }
    if (s.is(Kind::ReturnStatement)) {
      result.returned = true;
      result.value = returned_value(s);
    } else if (s.is(Kind::DataflowBlock)) {
      dataflow(s, i + 1 < statements.size() ? statements[i + 1] : Node());
    } else {
      remembered_statement(s);
    }
  }
  return result;
}

// A statement at the top of the body or of a dataflow block: may have been read before.
void BodyReader::remembered_statement(Node s) {
  if (!memo_ || memo_->is_open()) return statement(s);
  const bool beside_damage = cut_short(s);
  const bool adjacent = s.index() == behind_last_;
  behind_last_ = s.row().next;
  if (s.is(Kind::Kept)) {
    if (beside_damage) return memo_->abandon();
    if (memo_->replay(r_, s, body_, adjacent, [this](std::string_view name) { return makes_output(name); })) return;
    if (!s) return;
  }
  memo_->open(s, body_, adjacent);
  statement(s);
  memo_->close(body_, beside_damage);
}

void BodyReader::statement(Node s) {
  support::poll();
  switch (cst::statement_kind(s.kind())) {
    case cst::StatementKind::Binding:
      binding(s);
      return;
    case cst::StatementKind::ExpressionStatement:
      expression_statement(s);
      return;
    case cst::StatementKind::IfStatement:
      if_statement(s);
      return;
    case cst::StatementKind::RelaxFunction:
      read_local_function(r_, s, body_.in_dataflow() && !makes_output(s.child(Field::Name).text()));
      return;
    case cst::StatementKind::PrimFunc:
      // Its name is poisoned: uses of it are not reported again.
      fn_.scope.define(s.child(Field::Name).text(), Val(), s.child(Field::Name).span());
      r_.error(s.child(Field::Name), diag::InlinePrimFunc, s.child(Field::Name).text());
      return;
    case cst::StatementKind::DataflowBlock:
      if (body_.in_dataflow()) {
        r_.error(header_of(s), diag::NestedDataflow);
        poison_bindings(s);
      } else {
        dataflow(s, {});
      }
      return;
    case cst::StatementKind::ReturnStatement:
      r_.error_hint(s,
                    body_.in_dataflow() ? "name the value in `R.output(...)` and return it after the block"
                                        : "bind the value to a name in both branches, and return it after the `if`",
                    diag::MisplacedReturn);
      return;
    case cst::StatementKind::UnexpectedIndent:
      for (Node c : s.children()) statement(c);
      return;
    case cst::StatementKind::PassStatement:
    case cst::StatementKind::Damage:
      return;
    case cst::StatementKind::MacroDefinition:
      define_macro(r_, s);
      return;
    case cst::StatementKind::FunctionDefinition:
      undecorated_function(r_, s, "put `@R.function` above it");
      return;
    case cst::StatementKind::Declaration:
      r_.error(s, diag::DeclarationWithoutValue, s.child(Field::Target).text());
      return;
#define RLDB_CST_STATEMENT(Kind, name, form, in_module, in_relax, in_tir, at_prompt) \
  RLDB_CST_ANSWER(CASE, in_relax, case cst::StatementKind::Kind:)
#include "frontend/cst/node_kinds.def"
    case cst::StatementKind::Other:
      unsupported_statement(r_, s, "in a Relax function");
      return;
  }
}

// A compound statement is represented by its first line in reports.
Node BodyReader::header_of(Node s) {
  if (const Node item = s.child(Field::Item)) return item;
  if (const Node c = s.child(Field::Condition)) return c;
  if (const Node c = s.child(Field::Target)) return c;
  if (const Node c = s.child(Field::Name)) return c;
  return s;
}

const ir::Expr* BodyReader::returned_value(Node s) {
  const Node value = s.child(Field::Value);
  if (!value) return r_.ctx.tuple({});
  const Val v = eval(r_, value);
  if (v.is(ValKind::None)) return r_.ctx.tuple({});
  const ir::Expr* e = to_leaf(r_, v, value);
  if (e && !r_.ctx.spans().get(e->id)) r_.at(e, value);
  return e;
}

// Whether the statement is followed by text, on the same line, that fits nowhere.
bool BodyReader::cut_short(Node s) {
  const cst::Tree& tree = *s.tree();
  const std::uint32_t next = s.row().next;
  if (next >= tree.rows.size() || tree.rows[next].kind != Kind::Error || tree.rows[next].begin < s.row().end)
    return false;
  return tree.text.substr(s.row().end, tree.rows[next].begin - s.row().end).find('\n') == std::string_view::npos;
}

void BodyReader::expression_statement(Node s) {
  const Node value = s.child(Field::Value);
  if (value.is(Kind::String) || value.is(Kind::ConcatenatedString)) return;  // a docstring
  if (value.is(Kind::Ellipsis)) return;
  if (value.is(Kind::Call)) {
    const Path p = path_of(r_, value.child(Field::Function));
    if (p.space == Space::Relax) {
      if (p.rest == "func_attr") return func_attr(value);
      if (p.rest == "func_name" || p.rest == "func_ret_value") return;
      if (p.rest == "output" || p.rest == "outputs") {
        if (!body_.in_dataflow()) r_.error(value, diag::OutputOutside);
        return;
      }
      if (p.rest == "match_cast" || p.rest == "match_shape") return bare_match(s, value, p.rest == "match_shape");
    }
  }
  const Val v = eval(r_, value);
  if (v.poison() || v.is(ValKind::Nothing)) return;
  const ir::Expr* e = to_relax(r_, v, value);
  if (!e) return;
  const auto* t = ir::as<ir::TupleType>(e->type);
  const bool is_void = t && t->fields.empty();
  const bool is_call = ir::isa<ir::Call>(e);
  if (is_void || (is_call && e->type->kind == ir::TypeKind::Any)) {
    const ir::Var* v2 = body_.in_dataflow() ? r_.ctx.dataflow_var("_", e->type) : r_.ctx.var("_", e->type);
    body_.append(r_.at(r_.ctx.binding(r_.at(v2, value), e), s));
    return;
  }
  r_.error(value, diag::ValueNotUsed, ir::print_type(e->type));
}

void BodyReader::func_attr(Node value) {
  // The attributes are collected anew by each reading.
  if (r_.memo) r_.memo->read_always();
  CallNode call{value, value.child(Field::Function), value.child(Field::Arguments), Space::Relax, "func_attr"};
  Arguments args(r_, call);
  const auto dict = args.require(0, "attrs");
  args.finish();
  if (!dict || dict->poison()) return;
  if (!dict->is(ValKind::Dict)) {
    r_.error(args.node(0, "attrs"), diag::ExpectedDictionary, describe(r_, *dict));
    return;
  }
  for (const ir::NamedAttr& a : to_fields(r_, *dict, value)) {
    if (ir::find_attr(fn_.attrs, a.name)) {
      r_.error(value, diag::RepeatedKey, a.name);
    } else {
      fn_.attrs.push_back(a);
    }
  }
}

BlockResult read_relax_statements(Reader& r, Node block) { return BodyReader(r).function_body(block); }
void read_prompt_statement(Reader& r, Node statement) { BodyReader(r).statement(statement); }

}  // namespace rldb::frontend::script
