// Reports on Python that TVMScript does not have, with what to write instead.
#include "frontend/script/value/unsupported.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

namespace {

// The Relax form to write instead.
std::string_view instead(Kind kind) {
  switch (cst::statement_kind(kind)) {
    case cst::StatementKind::Loop:
      return "Relax has no loops: write out the bindings, or put the loop into a TensorIR function";
    case cst::StatementKind::WhileLoop:
      return "Relax has no loops: write a recursive function, or put the loop into a TensorIR function";
    case cst::StatementKind::AugmentedAssignment:
      return "bind the result to a name: `y = x + 1`";
    case cst::StatementKind::RaiseStatement:
    case cst::StatementKind::AssertStatement:
      return "check while running with `R.assert_op(condition, format=\"...\")`";
    case cst::StatementKind::DeleteStatement:
      return "leave it out: a value lives as long as it is used";
    case cst::StatementKind::Module:
      return "a module belongs at the top of a file";
    case cst::StatementKind::SBlock:
    case cst::StatementKind::InitBlock:
    case cst::StatementKind::AxisBinding:
    case cst::StatementKind::BufferStore:
      return "it belongs into a TensorIR function, under `@T.prim_func`";
    case cst::StatementKind::WithStatement:
      return "the only `with` of Relax is `with R.dataflow():`";
    case cst::StatementKind::RelaxFunction:
    case cst::StatementKind::PrimFunc:
    case cst::StatementKind::PythonFunction:
    case cst::StatementKind::MacroDefinition:
    case cst::StatementKind::FunctionDefinition:
    case cst::StatementKind::DataflowBlock:
    case cst::StatementKind::IfStatement:
    case cst::StatementKind::TryStatement:
    case cst::StatementKind::UnexpectedIndent:
    case cst::StatementKind::Binding:
    case cst::StatementKind::Declaration:
    case cst::StatementKind::ExpressionStatement:
    case cst::StatementKind::ReturnStatement:
    case cst::StatementKind::PassStatement:
    case cst::StatementKind::BreakStatement:
    case cst::StatementKind::ContinueStatement:
    case cst::StatementKind::ImportStatement:
    case cst::StatementKind::ImportFromStatement:
    case cst::StatementKind::ScopeStatement:
    case cst::StatementKind::Damage:
    case cst::StatementKind::Other:
      break;
  }
  return {};
}

void poison_names(Reader& r, Node statement) {
  std::vector<Node> pending{statement};
  while (!pending.empty()) {
    const Node n = pending.back();
    pending.pop_back();
    const Node target = n.child(n.is(Kind::RelaxFunction) ? Field::Name : Field::Target);
    if (target.is(Kind::Identifier)) r.fn->scope.define(target.text(), Val(), target.span());
    if (target.is(Kind::Tuple) || target.is(Kind::List))
      for (Node t : target.children())
        if (t.is(Kind::Identifier)) r.fn->scope.define(t.text(), Val(), t.span());
    if (n.is(Kind::RelaxFunction)) continue;
    for (Node c : n.children()) pending.push_back(c);
  }
}

}  // namespace

std::string shown_kind(Kind kind) {
  if (kind == Kind::Loop) return "a `for` loop";
  if (kind == Kind::NamedExpression) return "`:=`";
  if (kind == Kind::IfStatement) return "`if`";
  if (kind == Kind::SBlock) return "a block of TensorIR";
  if (kind == Kind::Set) return "a set";
  std::string words(cst::to_string(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  const bool vowel = !words.empty() && std::string_view("aeiou").find(words[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + words;
}

void unsupported_statement(Reader& r, Node statement, std::string_view where) {
  source::Span span = statement.span();
  const std::string_view text = statement.text();
  if (const std::size_t eol = text.find('\n'); eol != std::string_view::npos && statement.tree()->mapped)
    span.end = span.begin + static_cast<std::uint32_t>(eol);
  const bool relax = r.fn && r.fn->dialect == Dialect::Relax;
  r.report(span, source::message(diag::UnsupportedHere, shown_kind(statement.kind()), where)
                     .with_hint(std::string(relax ? instead(statement.kind()) : std::string_view())));
  if (r.fn) poison_names(r, statement);
}

}  // namespace rldb::frontend::script
