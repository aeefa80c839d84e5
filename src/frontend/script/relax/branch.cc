// `if` in Relax functions: branches as sequences of their own, the merged variable.
#include <fmt/format.h>

#include "frontend/cst/header.h"
#include "frontend/script/module.h"
#include "frontend/script/relax/body_reader.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/type_relation.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

BodyReader::Branch BodyReader::branch(const std::function<void()>& read, Node block) {
  Branch b;
  b.block = block;
  fn_.scope.enter(ScopeKind::Branch);
  body_.begin_branch();
  const ErrorsSince errors = r_.errors();
  const std::size_t broken = broken_definitions_;
  read();
  const ir::Expr* value = nullptr;
  std::vector<const ir::Binding*>& current = body_.current();
  if (!current.empty()) {
    const ir::Binding* last = current.back();
    b.var = last->var;
    value = last->var;
    // The last binding of a leaf is the branch's value itself.
    if (!last->is_match_cast() && (ir::is_leaf(last->value) || ir::isa<ir::Tuple>(last->value))) {
      value = last->value;
      current.pop_back();
    }
  }
  if (!value) {
    // A branch that ends in a dataflow block: its last output.
    if (const ir::Binding* last = body_.last_output()) value = b.var = last->var;
  }
  b.poisoned = errors.any() || broken_definitions_ != broken;
  b.seq = body_.end_branch(value ? value : r_.ctx.tuple({}));
  fn_.scope.leave();
  return b;
}

BodyReader::Branch BodyReader::block_branch(Node block) {
  return branch(
      [&] {
        for (Node s : block.children()) statement(s);
      },
      block);
}

void BodyReader::if_statement(Node s) {
  std::vector<Node> alternatives;
  for (Node c : s.children())
    if (c.field() == Field::Alternative) alternatives.push_back(c);
  if_chain(s, s.child(Field::Condition), s.child(Field::Consequence), alternatives, 0);
}

// The conditions that the machine accepts: a scalar, or a tensor of no dimensions, of bools or integers.
bool BodyReader::may_be_condition(const ir::Type* t) {
  const auto fits = [](ir::DType d) { return d.is_void() || d.is_bool() || d.is_integral(); };
  if (const auto* p = ir::as<ir::PrimType>(t)) return fits(p->dtype);
  if (const auto* x = ir::as<ir::TensorType>(t)) return fits(x->dtype) && (x->ndim <= 0);
  return t->kind == ir::TypeKind::Any || t->kind == ir::TypeKind::DTensor;
}

void BodyReader::if_chain(Node s, Node condition, Node consequence, const std::vector<Node>& alternatives,
                          std::size_t at) {
  if (body_.in_dataflow()) {
    r_.error(condition, diag::IfInDataflow);
    return poison_bindings(s);
  }
  if (at > 200) {
    r_.error(condition, diag::NestedTooDeepText);
    return;
  }
  const Val cond_value = eval(r_, condition);
  const ir::Expr* cond = to_leaf(r_, cond_value, condition);
  if (cond && !may_be_condition(cond->type)) r_.error(condition, diag::ConditionNotBool, describe(r_, Val::of(cond)));
  const Branch yes = block_branch(consequence);
  if (at >= alternatives.size()) {
    if (cst::has_damaged_header(s)) return poison_bindings(s);  // `if (c:` has its error, and may have lost its `else`
    const std::string what = yes.var ? fmt::format("bind `{}` there too: it is", yes.var->name)
                                     : std::string("bind a name in both branches, which is");
    r_.error_hint(condition, fmt::format("add `else:` and {} the value of the `if`", what), diag::IfWithoutElse);
    return poison_bindings(s);
  }
  const Node other = alternatives[at];
  const Branch no = other.is(Kind::ElifClause) ? branch(
                                                     [&] {
                                                       if_chain(other, other.child(Field::Condition),
                                                                other.child(Field::Consequence), alternatives, at + 1);
                                                     },
                                                     other.child(Field::Consequence))
                                               : block_branch(other.child(Field::Body));
  finish_if(s, condition, cond, yes, no);
}

void BodyReader::finish_if(Node s, Node condition, const ir::Expr* cond, const Branch& yes, const Branch& no) {
  if (!yes.var || !no.var) {
    const Branch& empty = yes.var ? no : yes;
    if (!empty.poisoned) r_.error(condition, diag::BranchWithoutValue);
    return poison_bindings(s);
  }
  if (yes.var->name != no.var->name) {
    if (!yes.poisoned && !no.poisoned) {
      source::Message m = source::message(diag::BranchNamesDiffer, yes.var->name, no.var->name);
      m.notes.push_back({r_.ctx.spans().get(yes.var->id), "the first branch ends in this binding"});
      r_.report(r_.ctx.spans().get(no.var->id), std::move(m));
    }
    return poison_bindings(s);
  }
  const std::string_view name = yes.var->name;
  const source::Span span = r_.ctx.spans().get(yes.var->id);
  if (!cond) {
    fn_.scope.define(name, Val(), span);
    return;
  }
  const ir::Type* type = yes.var->type == no.var->type ? yes.var->type : ir::join(r_.ctx, yes.var->type, no.var->type);
  const ir::If* e = r_.at(r_.ctx.if_expr(cond, yes.seq, no.seq, type), s);
  const ir::Var* v = r_.ctx.var(name, type);
  r_.ctx.spans().set(v->id, span);
  body_.append(r_.at(r_.ctx.binding(v, e), s));
  fn_.scope.define(v->name, Val::of(v), span);
}

}  // namespace rldb::frontend::script
