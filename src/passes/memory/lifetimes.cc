// Lifetimes: records uses of tensors and storages on a graph of what variables hold, then propagates them.
#include "passes/memory/lifetimes.h"

#include <algorithm>

#include "passes/common.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/control.h"
#include "rldb/bytecode/builtin/value.h"
#include "rldb/ir/op/memory.h"
#include "rldb/ir/op/vm.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;

namespace {

// Builtins whose result may be their first argument, or memory of it.
bool is_alias(std::string_view name) {
  return name == builtin::Copy || name == builtin::Reshape || name == builtin::ToDevice ||
         name == builtin::EnsureZeroOffset || name == builtin::MemoryView || name == builtin::MemoryViewAlias;
}

// The function that a call with `Trait::CallsPacked` calls, else the callee.
std::string_view packed_symbol(const Call* call) {
  const Expr* callee = call->callee;
  if (op::is_call_with(call, op::Trait::CallsPacked) && !call->args.empty()) callee = call->args[0];
  const auto* f = as<ExternFunc>(callee);
  return f ? f->symbol : std::string_view();
}

}  // namespace

Lifetimes::Lifetimes(const Module* module, const Function* f) : module_(module) {
  visit_seq(f->body);
  bindings_.push_back(nullptr);  // the end, which is the place of the result
  use(f->body->body, Escape::Returned);
  settle();
  bindings_.pop_back();
}

void Lifetimes::visit_seq(const SeqExpr* s) {
  const std::size_t outer = block_;
  for (const BindingBlock* b : s->blocks) {
    block_ = ++blocks_;
    for (const Binding* binding : b->bindings) visit_binding(binding);
  }
  block_ = outer;
}

void Lifetimes::visit_binding(const Binding* b) {
  support::poll();
  bindings_.push_back(b->var);
  const std::size_t node = visit_value(b, b->value);
  if (node == npos) return;
  vars_[b->var] = node;
  const std::size_t memory = nodes_[node].memory;
  if (memory != npos && isa<Var>(b->value) && !found_[memory].alias) found_[memory].alias = b->var;
}

std::size_t Lifetimes::visit_value(const Binding* b, const Expr* value) {
  if (const auto* call = as<Call>(value)) return visit_call(b, call);
  if (const auto* branch = as<If>(value)) return visit_if(branch);
  if (const auto* f = as<Function>(value)) {
    for (const Var* v : free_vars(f)) use(v, Escape::Captured);
    return npos;
  }
  if (const auto* s = as<SeqExpr>(value)) {
    visit_seq(s);
    return node_of(s->body);
  }
  return node_of(value);
}

std::size_t Lifetimes::visit_if(const If* branch) {
  use(branch->cond);
  std::vector<std::size_t> parts;
  for (const SeqExpr* s : {branch->then_branch, branch->else_branch}) {
    visit_seq(s);
    use(s->body);
    parts.push_back(node_of(s->body));
  }
  return joined(std::move(parts), false);
}

std::size_t Lifetimes::visit_call(const Binding* b, const Call* call) {
  using Form = FoundMemory::Form;
  if (as_call_of(call, op::BuiltinAllocTensor)) return allocation(Form::OwnTensor, b, call);
  if (op::is_call_with(call, op::Trait::Storage)) return allocation(Form::Storage, b, call);
  if (op::is_call_with(call, op::Trait::Allocates)) return allocation(Form::TensorInStorage, b, call);
  if (const Var* killed = killed_by(call)) {
    kill(killed);
    return npos;
  }
  if (op::is_call_with(call, op::Trait::View | op::Trait::Identity) && !call->args.empty()) {
    use(call->args[0]);
    return node_of(call->args[0]);
  }
  if (const std::string_view symbol = packed_symbol(call); !symbol.empty()) return visit_packed(symbol, call->args);
  // A kernel reads and writes, and keeps nothing; an operator keeps nothing either, but the planner treats it as a
  // function that may.
  const auto* g = as<GlobalVar>(call->callee);
  const auto* o = as<Op>(call->callee);
  const bool kernel = (g && isa<PrimFunc>(module_->find(g->name))) || op::is_call_with(call, op::Trait::CallTir) ||
                      as_call_of(call, op::VmCallTirDyn);
  for (const Expr* arg : call->args) {
    if (kernel)
      use(arg);
    else
      use(arg, Escape::Passed, g ? g->name : o ? o->name : std::string_view("a function value"));
  }
  return npos;
}

std::size_t Lifetimes::visit_packed(std::string_view symbol, Span<const Expr*> args) {
  if (!bytecode::find_builtin(symbol)) {
    for (const Expr* arg : args) use(arg, Escape::Passed, symbol);
    return npos;
  }
  for (const Expr* arg : args) {
    if (symbol == builtin::MakeClosure)
      use(arg, Escape::Captured);
    else if (symbol == builtin::InvokeClosure)
      use(arg, Escape::Passed, symbol);
    else
      use(arg);
  }
  if (is_alias(symbol) && !args.empty()) return node_of(args[0]);
  if (symbol == builtin::MakeTuple) {
    std::vector<std::size_t> fields;
    for (const Expr* arg : args) fields.push_back(node_of(arg));
    return joined(std::move(fields), true);
  }
  if (symbol == builtin::TupleGetItem && args.size() == 2) {
    const std::size_t whole = node_of(args[0]);
    const auto index = const_int(args[1]);
    if (whole == npos || !index || !nodes_[whole].tuple) return whole;
    return std::size_t(*index) < nodes_[whole].parts.size() ? nodes_[whole].parts[std::size_t(*index)] : npos;
  }
  return npos;
}

std::size_t Lifetimes::allocation(FoundMemory::Form form, const Binding* b, const Call* call) {
  FoundMemory m{.form = form, .binding = b, .call = call};
  m.begin = m.end = bindings_.size();
  m.storage = npos;
  if (form == FoundMemory::Form::TensorInStorage && !call->args.empty()) {
    use(call->args[0]);
    const std::size_t node = node_of(call->args[0]);
    if (node != npos) m.storage = nodes_[node].memory;
  }
  Node n;
  n.memory = found_.size();
  n.block = block_;
  n.end = m.begin;
  found_.push_back(std::move(m));
  nodes_.push_back(std::move(n));
  return nodes_.size() - 1;
}

std::size_t Lifetimes::node_of(const Expr* e) {
  if (const auto* v = as<Var>(e)) {
    const auto known = vars_.find(v);
    return known == vars_.end() ? npos : known->second;
  }
  if (const auto* t = as<Tuple>(e)) {
    std::vector<std::size_t> fields;
    for (const Expr* item : t->items) fields.push_back(node_of(item));
    return joined(std::move(fields), true);
  }
  if (const auto* get = as<TupleGetItem>(e)) {
    const std::size_t whole = node_of(get->tuple);
    if (whole == npos || !nodes_[whole].tuple) return whole;
    return std::size_t(get->index) < nodes_[whole].parts.size() ? nodes_[whole].parts[std::size_t(get->index)] : npos;
  }
  return npos;
}

std::size_t Lifetimes::joined(std::vector<std::size_t> parts, bool tuple) {
  if (std::all_of(parts.begin(), parts.end(), [](std::size_t p) { return p == npos; })) return npos;
  Node n;
  n.parts = std::move(parts);
  n.tuple = tuple;
  n.block = block_;
  nodes_.push_back(std::move(n));
  return nodes_.size() - 1;
}

void Lifetimes::use(const Expr* e, Escape how, std::string_view to) {
  const std::size_t node = node_of(e);
  if (node == npos) return;
  Node& n = nodes_[node];
  n.end = std::max(n.end, bindings_.size());
  n.elsewhere = n.elsewhere || n.block != block_;
  if (n.escape != Escape::None) return;
  n.escape = how;
  n.escapes_to = to;
}

// A tensor ends at its last use; a storage's reservation ends here.
void Lifetimes::kill(const Var* v) {
  const std::size_t node = node_of(v);
  if (node == npos || nodes_[node].memory == npos) return;
  FoundMemory& m = found_[nodes_[node].memory];
  if (m.form == FoundMemory::Form::Storage) m.end = bindings_.size();
}

void Lifetimes::settle() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& n = nodes_[i];
    for (const std::size_t p : n.parts) {
      if (p == npos) continue;
      Node& part = nodes_[p];
      part.end = std::max(part.end, n.end);
      part.elsewhere = part.elsewhere || n.elsewhere || n.block != part.block;
      if (part.escape == Escape::None) part.escape = n.escape, part.escapes_to = n.escapes_to;
    }
    if (n.memory == npos) continue;
    FoundMemory& m = found_[n.memory];
    m.end = std::max(m.end, n.end);
    m.escape = n.escape != Escape::None ? n.escape : n.elsewhere ? Escape::Elsewhere : Escape::None;
    m.escapes_to = n.escapes_to;
    // A value that may be kept lives until the end.
    if (n.escape == Escape::Captured) m.end = bindings_.size() - 1;
  }
  // A storage is held at least as long as the last of its tensors.
  for (const FoundMemory& m : found_)
    if (m.storage != npos) found_[m.storage].end = std::max(found_[m.storage].end, m.end);
}

}  // namespace rldb::passes
