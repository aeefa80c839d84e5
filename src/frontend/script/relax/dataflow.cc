// Dataflow blocks: which bindings are outputs, and the names that remain visible after the block.
#include <algorithm>

#include "frontend/script/module.h"
#include "frontend/script/relax/body_reader.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "rldb/source/diagnostic_script_relax.h"

namespace rldb::frontend::script {

bool BodyReader::is_output(Reader& r, Node s) {
  if (!s.is(Kind::ExpressionStatement)) return false;
  const Node value = s.child(Field::Value);
  if (!value.is(Kind::Call)) return false;
  const Path p = path_of(r, value.child(Field::Function));
  return p.space == Space::Relax && (p.rest == "output" || p.rest == "outputs");
}

void BodyReader::names_in(Node n, std::vector<Node>& out) {
  if (n.is(Kind::Identifier)) out.push_back(n);
  if (n.is(Kind::Attribute)) return names_in(n.child(Field::Object), out);
  for (Node c : n.children())
    if (!c.is(Kind::KeywordArgument) || c.child(Field::Value))
      names_in(c.is(Kind::KeywordArgument) ? c.child(Field::Value) : c, out);
}

void BodyReader::collect_outputs(const std::vector<Node>& statements, Node next, Outputs& out) {
  std::vector<Node> names;
  for (Node s : statements)
    if (is_output(r_, s)) {
      names_in(s.child(Field::Value).child(Field::Arguments), names);
      break;
    }
  // A dataflow variable that the return right after the block names is an output too.
  if (next.is(Kind::ReturnStatement)) names_in(next.child(Field::Value), names);
  for (Node n : names) out.last.emplace(n.text(), statements.size());
  if (memo_ && !memo_->is_open()) remember_outputs(out);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    if (statements[i].is(Kind::Kept)) {
      memo_->for_each_output(statements[i], [&](std::string_view name) {
        if (const auto it = out.last.find(name); it != out.last.end()) it->second = i;
      });
      continue;
    }
    // Rejected, but its variables count as bound.
    if (statements[i].is(Kind::IfStatement)) {
      for (const std::string_view name : names_bound_in(statements[i]))
        if (const auto it = out.last.find(name); it != out.last.end()) it->second = i;
      continue;
    }
    const Node target =
        statements[i].is(Kind::Binding) ? statements[i].child(Field::Target) : statements[i].child(Field::Name);
    const auto note = [&](Node t) {
      if (const auto it = out.last.find(t.text()); it != out.last.end()) it->second = i;
    };
    if (target.is(Kind::Identifier)) note(target);
    if (target.is(Kind::Tuple) || target.is(Kind::List))
      for (Node t : target.children()) note(t);
  }
}

void BodyReader::remember_outputs(const Outputs& outputs) {
  std::vector<std::string> names;
  for (const auto& [name, last] : outputs.last) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  memo_->outputs(std::move(names));
}

void BodyReader::dataflow(Node s, Node next) {
  behind_last_ = 0;
  std::vector<Node> statements;
  for (Node c : s.child(Field::Body).children()) statements.push_back(c);
  if (statements.empty()) return;  // an error, until something stands in it
  Outputs outputs;
  collect_outputs(statements, next, outputs);
  outputs_ = &outputs;
  body_.begin_dataflow();
  fn_.scope.enter(ScopeKind::Dataflow);
  bool ended = false;
  std::vector<Node> listed;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    outputs.statement = i;
    if (is_output(r_, statements[i])) {
      if (ended) {
        r_.error(statements[i], diag::SecondOutput);
        continue;
      }
      ended = true;
      names_in(statements[i].child(Field::Value).child(Field::Arguments), listed);
      continue;
    }
    if (ended && !statements[i].is(Kind::Error) && !statements[i].is(Kind::PassStatement)) {
      r_.error(statements[i], diag::AfterOutput);
      // Later bindings still define their names, so that uses of them are not reported as well.
    }
    if (statements[i].is(Kind::IfStatement)) {
      r_.error(statements[i].child(Field::Condition), diag::IfInDataflow);
      poison_bindings(statements[i]);
      continue;
    }
    remembered_statement(statements[i]);
  }
  outputs_ = nullptr;
  behind_last_ = 0;
  std::vector<std::pair<std::string_view, Scope::Entry>> kept;
  for (const auto& [name, last] : outputs.last) {
    const Scope::Entry* e = fn_.scope.find_entry(name);
    if (e && last < statements.size()) kept.emplace_back(name, *e);
  }
  for (Node n : listed)
    if (outputs.last.at(n.text()) == statements.size()) report_not_bound(n, s);
  fn_.scope.leave();
  body_.end_dataflow();
  for (const auto& [name, entry] : kept) fn_.scope.define(name, entry.value, entry.span);
}

void BodyReader::report_not_bound(Node name, Node block) {
  if (find_name(r_, name.text())) {
    r_.error(name, diag::OutputNotBound, name.text());
  } else if (!block.damaged()) {
    unknown_name(r_, name.text(), name);
  }
}

void BodyReader::poison_bindings(Node n) {
  for (Node c : n.children()) {
    if (c.is(Kind::Binding)) {
      if (const Node t = c.child(Field::Target); t.is(Kind::Identifier)) fn_.scope.define(t.text(), Val(), t.span());
    } else {
      poison_bindings(c);
    }
  }
}

std::vector<std::string_view> BodyReader::names_bound_in(Node n) {
  std::vector<std::string_view> out;
  for (std::uint32_t i = n.index(); i < n.row().next; ++i) {
    const Node c(n.tree(), i);
    if (c.is(Kind::Binding) && c.child(Field::Target).is(Kind::Identifier))
      out.push_back(c.child(Field::Target).text());
  }
  return out;
}

}  // namespace rldb::frontend::script
