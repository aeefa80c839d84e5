// Collects the scalar expressions that a function's shape heap has to hold.
#include "passes/lowering/shape_slots.h"

#include <algorithm>
#include <deque>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using namespace ir;

bool is_symbolic(const Expr* e) {
  if (!e || e->type->kind != TypeKind::Prim || isa<IntImm>(e) || isa<FloatImm>(e)) return false;
  if (isa<Var>(e)) return true;
  if (const auto* call = as<Call>(e)) return is_tir_op(call->callee);
  return isa<BinaryExpr>(e) || isa<NotExpr>(e) || isa<CastExpr>(e) || isa<SelectExpr>(e);
}

ShapeSlots::ShapeSlots(const Function* f) {
  for (const Var* p : f->params) values_.insert(p);
  collect_values(f->body);
  for (const Var* p : f->params) visit_type(p->type);
  visit_seq(f->body);
  visit_type(f->ret_type);
  link_users();
}

void ShapeSlots::collect_values(const SeqExpr* s) {
  for (const BindingBlock* block : s->blocks) {
    for (const Binding* b : block->bindings) {
      values_.insert(b->var);
      if (const auto* branch = as<If>(b->value)) {
        collect_values(branch->then_branch);
        collect_values(branch->else_branch);
      } else if (const auto* inner = as<SeqExpr>(b->value)) {
        collect_values(inner);
      }
    }
  }
}

void ShapeSlots::visit_seq(const SeqExpr* s) {
  for (const BindingBlock* block : s->blocks) {
    for (const Binding* b : block->bindings) {
      if (b->is_match_cast()) {
        visit_type(b->cast_type);
        if (is_symbolic(b->value) || isa<ShapeExpr>(b->value)) visit_value(b->value);
      } else {
        visit_value(b->value);
      }
    }
  }
  visit_value(s->body);
}

void ShapeSlots::visit_value(const Expr* e) {
  if (const auto* v = as<Var>(e)) {
    if (is_value(v)) return visit_type(v->type);
    return add(v);
  }
  if (is_symbolic(e)) return add(e);
  if (const auto* call = as<Call>(e)) {
    for (const Type* t : call->ty_args) visit_type(t);
    for (const Expr* a : call->args) visit_value(a);
    return visit_type(call->type);
  }
  if (const auto* t = as<Tuple>(e)) {
    for (const Expr* item : t->items) visit_value(item);
  } else if (const auto* get = as<TupleGetItem>(e)) {
    visit_value(get->tuple);
  } else if (const auto* shape = as<ShapeExpr>(e)) {
    for (const Expr* d : shape->values) add(d);
  } else if (const auto* branch = as<If>(e)) {
    visit_value(branch->cond);
    visit_seq(branch->then_branch);
    visit_seq(branch->else_branch);
  } else if (const auto* s = as<SeqExpr>(e)) {
    visit_seq(s);
  }
}

// Function types have symbols of their own.
void ShapeSlots::visit_type(const Type* t) {
  if (!t || !t->has_vars) return;
  switch (t->kind) {
    case TypeKind::Shape:
      for (const Expr* d : as<ShapeType>(t)->values) add(d);
      return;
    case TypeKind::Tensor:
      for (const Expr* d : as<TensorType>(t)->shape) add(d);
      return;
    case TypeKind::DTensor:
      return visit_type(as<DTensorType>(t)->tensor);
    case TypeKind::Tuple:
      for (const Type* f : as<TupleType>(t)->fields) visit_type(f);
      return;
    case TypeKind::Any:
    case TypeKind::Prim:
    case TypeKind::Func:
    case TypeKind::Pointer:
      return;
  }
}

void ShapeSlots::add(const Expr* e) {
  if (!is_symbolic(e) || find(e)) return;
  ShapeSlot& s = slots_.emplace_back();
  s.expr = e;
  s.index = int(slots_.size()) - 1;
  by_hash_.emplace(expr_hash(e), s.index);
  if (isa<Var>(e)) return;
  std::vector<const Var*> vars;
  collect_vars(e, vars);
  for (const Var* v : vars) add(v);
}

ShapeSlot* ShapeSlots::find(const Expr* e) {
  auto [begin, end] = by_hash_.equal_range(expr_hash(e));
  for (auto it = begin; it != end; ++it)
    if (expr_equal(slots_[std::size_t(it->second)].expr, e)) return &slots_[std::size_t(it->second)];
  return nullptr;
}

namespace {

// TVM keeps slots in a hash map of the C++ library, whose iteration order decides the order in which they are computed:
// the last insertion comes first, and each growth of the table reverses what it holds.
std::vector<std::size_t> in_map_order(std::size_t count) {
  constexpr std::size_t kBuckets[] = {13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229};
  std::deque<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::find(std::begin(kBuckets), std::end(kBuckets), i) != std::end(kBuckets))
      std::reverse(order.begin(), order.end());
    order.push_front(i);
  }
  return {order.begin(), order.end()};
}

}  // namespace

void ShapeSlots::link_users() {
  for (const std::size_t i : in_map_order(slots_.size())) {
    ShapeSlot& s = slots_[i];
    if (isa<Var>(s.expr)) continue;
    std::vector<const Var*> vars;
    collect_vars(s.expr, vars);
    for (const Var* v : vars) find(v)->users.push_back(s.index);
    s.missing = int(vars.size());
  }
}

ShapeSlots::State ShapeSlots::save() const {
  State state;
  for (const ShapeSlot& s : slots_) {
    state.ready.push_back(s.ready);
    state.missing.push_back(s.missing);
  }
  return state;
}

void ShapeSlots::restore(const State& state) {
  for (ShapeSlot& s : slots_) {
    s.ready = state.ready[std::size_t(s.index)];
    s.missing = state.missing[std::size_t(s.index)];
  }
}

}  // namespace rldb::passes
