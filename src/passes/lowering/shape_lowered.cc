#include "passes/lowering/shape_lowered.h"

#include <unordered_set>

#include "passes/common.h"
#include "passes/lowering/shape_slots.h"
#include "rldb/bytecode/builtin.h"
#include "rldb/bytecode/builtin/heap.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op/call_builtin.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

namespace {

// The name of the builtin that a value calls; empty if there is none.
std::string_view builtin_called(const Expr* value) {
  const auto* call = as<Call>(value);
  if (!call) return {};
  const bool with_context = as_call_of(call, op::CallBuiltinWithCtx) && !call->args.empty();
  const auto* callee = as<ExternFunc>(with_context ? call->args[0] : call->callee);
  return callee ? callee->symbol : std::string_view();
}

bool is_check(const Expr* value) {
  const auto id = bytecode::find_builtin(builtin_called(value));
  return id && bytecode::info(*id).effect == bytecode::BuiltinEffect::Heap;
}

// A heap, or the null that replaces one without slots, followed by checks.
bool begins_with_heap(const SeqExpr* body) {
  std::vector<const Binding*> first;
  for (const BindingBlock* block : body->blocks)
    for (const Binding* b : block->bindings)
      if (first.size() < 2) first.push_back(b);
  if (first.empty()) return false;
  if (makes_shape_heap(first[0]->value)) return true;
  return first.size() == 2 && as_call_of(first[0]->value, op::NullValue) && is_check(first[1]->value);
}

}  // namespace

bool makes_shape_heap(const Expr* value) { return builtin_called(value) == builtin::AllocShapeHeap; }

bool is_shape_lowered(const Function* f) {
  if (!f->body || !begins_with_heap(f->body)) return false;
  std::unordered_set<const Var*> values(f->params.begin(), f->params.end());  // in registers
  bool left = false;                                                          // some expression needs lowering
  const auto look = [&](Span<const Expr*> list) {
    for (const Expr* e : list) {
      const auto* v = as<Var>(e);
      left = left || (v ? v->type->kind == TypeKind::Prim && !values.contains(v) : is_symbolic(e));
    }
  };
  walk(f->body, [&](const Node* n) {
    if (const auto* b = as<Binding>(n)) {
      left = left || b->is_match_cast();
      values.insert(b->var);
    }
    if (const auto* s = as<ShapeExpr>(n)) look(s->values);
    if (const auto* t = as<Tuple>(n)) look(t->items);
    if (const auto* call = as<Call>(n); call && !is_tir_op(call->callee)) look(call->args);
    return !left;
  });
  return !left;
}

}  // namespace rldb::passes
