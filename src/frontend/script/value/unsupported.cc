// Reports on Python that TVMScript does not have, with what to write instead.
#include "frontend/script/value/unsupported.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

namespace {

// The Relax form to write instead.
constexpr std::pair<Kind, std::string_view> kInstead[] = {
    {Kind::Loop, "Relax has no loops: write out the bindings, or put the loop into a TensorIR function"},
    {Kind::WhileLoop, "Relax has no loops: write a recursive function, or put the loop into a TensorIR function"},
    {Kind::AugmentedAssignment, "bind the result to a name: `y = x + 1`"},
    {Kind::RaiseStatement, "check while running with `R.assert_op(condition, format=\"...\")`"},
    {Kind::AssertStatement, "check while running with `R.assert_op(condition, format=\"...\")`"},
    {Kind::DeleteStatement, "leave it out: a value lives as long as it is used"},
    {Kind::Module, "a module belongs at the top of a file"},
    {Kind::SBlock, "it belongs into a TensorIR function, under `@T.prim_func`"},
    {Kind::InitBlock, "it belongs into a TensorIR function, under `@T.prim_func`"},
    {Kind::AxisBinding, "it belongs into a TensorIR function, under `@T.prim_func`"},
    {Kind::BufferStore, "it belongs into a TensorIR function, under `@T.prim_func`"},
    {Kind::WithStatement, "the only `with` of Relax is `with R.dataflow():`"},
};

constexpr std::pair<Kind, std::string_view> kInsteadAtPrompt[] = {
    {Kind::WhileLoop, "`for i in range(3):` executes entries several times"},
    {Kind::AugmentedAssignment, "write `x = x + 1`"},
    {Kind::AssertStatement, "`:expect` checks the last result"},
    {Kind::DeleteStatement, "leave it out: a name is free to be bound again"},
};

template <std::size_t Size>
std::string_view instead(const std::pair<Kind, std::string_view> (&all)[Size], Kind kind) {
  for (const auto& [of, text] : all)
    if (of == kind) return text;
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
  const std::string_view hint = relax            ? instead(kInstead, statement.kind())
                                : !r.fn && r.env ? instead(kInsteadAtPrompt, statement.kind())
                                                 : std::string_view();
  r.report(span,
           source::message(diag::UnsupportedHere, shown_kind(statement.kind()), where).with_hint(std::string(hint)));
  if (r.fn) poison_names(r, statement);
  if (r.fn && (statement.is(Kind::ImportStatement) || statement.is(Kind::ImportFromStatement)))
    for (Node n : statement.children()) {
      const Node name = n.is(Kind::AliasedImport) && n.child(Field::Alias) ? n.child(Field::Alias) : n;
      if (name.is(Kind::Identifier)) r.fn->scope.define(name.text(), Val(), name.span());
    }
}

bool has_several_targets(Node binding) {
  int count = 0;
  for (Node c : binding.children()) count += c.field() == Field::Target ? 1 : 0;
  return count > 1;
}

void undecorated_function(Reader& r, Node function, std::string_view hint) {
  const Node name = function.child(Field::Name);
  if (!name) return;  // the error of its header
  r.report(undecorated_function(r.text, function.span().begin, name.span(), hint));
  r.scope().define(name.text(), Val(), name.span());
}

}  // namespace rldb::frontend::script
