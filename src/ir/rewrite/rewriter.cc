// Rewriter over Relax and scalar expressions; statements are in rewriter_stmt.cc, types in rewriter_type.cc.
#include <utility>

#include "rldb/ir/equal.h"
#include "rldb/ir/intrinsic.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

// Chains of left operands longer than this are cut into pieces that are rewritten from the bottom up.
constexpr int kSpinePiece = 64;

// An operator over operands that changed: folded, because substitution brings literals together.
const Expr* remade_binary(Context& ctx, const BinaryExpr* b, const Expr* x, const Expr* y) {
  auto made = make_binary(ctx, b->op(), x, y);
  if (made.ok()) return *made;
  return ctx.binary(b->op(), cast_to(ctx, b->a->dtype(), x), cast_to(ctx, b->b->dtype(), y));
}

}  // namespace

const Expr* Rewriter::lookup(const Var* v) const {
  if (vars_.empty()) return v;
  const auto found = vars_.find(v);
  return found == vars_.end() ? v : found->second;
}

// Only nodes made in the meantime come from `from`: a variable that a use was mapped to does not.
void Rewriter::record(const Node* made, const Node* from, std::uint32_t first_new) {
  if (made == nullptr || made == from || made->id < first_new) return;
  ctx_.set_origin(made, from);
  if (!ctx_.spans().get(made))
    if (const source::Span span = ctx_.spans().get(from)) ctx_.spans().set(made, span);
}

const Expr* Rewriter::rewrite(const Expr* e) {
  if (e == nullptr) return nullptr;
  support::poll();
  if (!done_.empty())
    if (const auto found = done_.find(e); found != done_.end()) return found->second;
  if (const auto* b = as<BinaryExpr>(e); b && isa<BinaryExpr>(b->a)) {
    int depth = 0;
    for (const Expr* left = b->a; depth <= 2 * kSpinePiece; ++depth) {
      const auto* next = as<BinaryExpr>(left);
      if (!next || (!done_.empty() && done_.count(left))) break;
      left = next->a;
    }
    if (depth > 2 * kSpinePiece) {
      rewrite_spine(e);
      const Expr* result = done_.at(e);
      if (spine_depth_ == 0) done_.clear();
      return result;
    }
  }
  const Expr* const outer = in_hook_;
  in_hook_ = nullptr;
  const std::uint32_t first_new = ctx_.node_count() + 1;
  const Expr* result = visit_expr(e);
  in_hook_ = outer;
  record(result, e, first_new);
  return result;
}

void Rewriter::rewrite_spine(const Expr* top) {
  std::vector<const Expr*> chain;
  for (const Expr* e = top; e != nullptr && !done_.count(e);) {
    const auto* b = as<BinaryExpr>(e);
    if (!b) break;
    chain.push_back(e);
    e = b->a;
  }
  ++spine_depth_;
  for (std::size_t i = chain.size(); i-- > 0;) {
    if (i % kSpinePiece != 0) continue;
    const Expr* made = rewrite(chain[i]);
    done_[chain[i]] = made;
  }
  --spine_depth_;
}

const Expr* Rewriter::visit_expr(const Expr* e) { return default_expr(e); }
const Expr* Rewriter::visit_call(const Call* call) { return default_expr(call); }
const Expr* Rewriter::visit_var(const Var* v) { return lookup(v); }
const SeqExpr* Rewriter::visit_seq(const SeqExpr* s) { return default_seq(s); }
std::vector<const Binding*> Rewriter::visit_binding(const Binding* b) { return default_binding(b); }
const BindingBlock* Rewriter::visit_block(const BindingBlock* b) { return default_block(b); }

const Expr* Rewriter::default_expr(const Expr* e) {
  const bool from_hook = in_hook_ == e;
  in_hook_ = e;
  if (const auto* v = as<Var>(e)) return from_hook ? lookup(v) : visit_var(v);
  if (const auto* c = as<Call>(e)) return from_hook ? rebuild_call(c) : visit_call(c);
  if (const auto* s = as<SeqExpr>(e)) return from_hook ? default_seq(s) : visit_seq(s);
  return rebuild(e);
}

bool Rewriter::rewrite_list(Span<const Expr*> from, std::vector<const Expr*>& to) {
  bool changed = false;
  to.reserve(from.size());
  for (const Expr* e : from) {
    to.push_back(rewrite(e));
    changed = changed || to.back() != e;
  }
  return changed;
}

const Expr* Rewriter::rebuild_call(const Call* call) {
  const Expr* callee = isa<Op>(call->callee) ? call->callee : rewrite(call->callee);
  std::vector<const Expr*> args;
  std::vector<const Type*> ty_args;
  const bool args_changed = rewrite_list(call->args, args);
  const bool types_changed = rewrite_types(call->ty_args, ty_args);
  const Span<NamedAttr> attrs = rewrite_attrs(call->attrs);
  const Type* type = rewrite_type(call->type);
  const bool attrs_changed = attrs.data() != call->attrs.data();
  if (!args_changed && !types_changed && !attrs_changed && callee == call->callee && type == call->type) return call;
  // Intrinsics keep their dtype. Replacing a variable by another of the same type changes no type; anything else may
  // (the value of a shape or a literal is part of some results).
  bool infer = callee != call->callee || types_changed || attrs_changed;
  for (std::size_t i = 0; i < args.size() && !infer; ++i)
    infer = args[i] != call->args[i] &&
            !(isa<Var>(args[i]) && isa<Var>(call->args[i]) && args[i]->type == call->args[i]->type);
  if (is_tir_op(callee)) infer = false;
  if (infer) {
    auto made = ctx_.call(CallSpec{callee, args, attrs, ty_args});
    if (made.ok()) return *made;
  }
  return ctx_.call_typed(callee, args, type, attrs, ty_args);
}

const Expr* Rewriter::rebuild_if(const If* e) {
  const Expr* cond = rewrite(e->cond);
  const auto* then_branch = cast<SeqExpr>(rewrite(static_cast<const Expr*>(e->then_branch)));
  const auto* else_branch = cast<SeqExpr>(rewrite(static_cast<const Expr*>(e->else_branch)));
  const Type* type = rewrite_type(e->type);
  if (cond == e->cond && then_branch == e->then_branch && else_branch == e->else_branch && type == e->type) return e;
  if (then_branch->type != e->then_branch->type || else_branch->type != e->else_branch->type)
    type = join(ctx_, then_branch->type, else_branch->type);
  return ctx_.if_expr(cond, then_branch, else_branch, type);
}

const Expr* Rewriter::rebuild(const Expr* e) {
  std::vector<const Expr*> items;
  if (const auto* b = as<BinaryExpr>(e)) {
    const Expr *x = rewrite(b->a), *y = rewrite(b->b);
    return x == b->a && y == b->b ? e : remade_binary(ctx_, b, x, y);
  }
  switch (e->expr_kind()) {
    case ExprKind::ShapeExpr:
      return rewrite_list(static_cast<const ShapeExpr*>(e)->values, items) ? ctx_.shape(items) : e;
    case ExprKind::Tuple:
      return rewrite_list(static_cast<const Tuple*>(e)->items, items) ? ctx_.tuple(items) : e;
    case ExprKind::TupleGetItem: {
      const auto* t = static_cast<const TupleGetItem*>(e);
      const Expr* tuple = rewrite(t->tuple);
      if (tuple == t->tuple) return e;
      auto made = ctx_.tuple_get(tuple, t->index);
      RLDB_CHECK(made.ok(), "a rewritten tuple lost its field: " + made.error().text);
      return *made;
    }
    case ExprKind::If:
      return rebuild_if(static_cast<const If*>(e));
    case ExprKind::Function:
      return rewrite_function(static_cast<const Function*>(e));
    case ExprKind::PrimFunc:
      return rewrite_prim_func(static_cast<const PrimFunc*>(e));
    case ExprKind::Not: {
      const auto* n = static_cast<const NotExpr*>(e);
      const Expr* a = rewrite(n->a);
      return a == n->a ? e : logical_not(ctx_, a);
    }
    case ExprKind::Cast: {
      const auto* c = static_cast<const CastExpr*>(e);
      const Expr* v = rewrite(c->value);
      return v == c->value ? e : cast_to(ctx_, e->dtype(), v);
    }
    case ExprKind::Select: {
      const auto* s = static_cast<const SelectExpr*>(e);
      const Expr *c = rewrite(s->cond), *t = rewrite(s->true_value), *f = rewrite(s->false_value);
      return c == s->cond && t == s->true_value && f == s->false_value ? e : ctx_.select(c, t, f);
    }
    case ExprKind::BufferLoad: {
      const auto* l = static_cast<const BufferLoad*>(e);
      const Buffer* buffer = visit_buffer(l->buffer);
      const bool changed = rewrite_list(l->indices, items);
      const Expr* predicate = rewrite(l->predicate);
      if (!changed && buffer == l->buffer && predicate == l->predicate) return e;
      return ctx_.load(buffer, items, predicate);
    }
    case ExprKind::ProducerLoad: {
      const auto* l = static_cast<const ProducerLoad*>(e);
      return rewrite_list(l->indices, items) ? ctx_.producer_load(l->tensor, e->dtype(), items) : e;
    }
    case ExprKind::Ramp: {
      const auto* r = static_cast<const Ramp*>(e);
      // The lanes are part of the type.
      const Expr *base = rewrite(r->base), *stride = rewrite(r->stride);
      return base == r->base && stride == r->stride ? e : ctx_.ramp(base, stride, r->lanes);
    }
    case ExprKind::Broadcast: {
      const auto* b = static_cast<const Broadcast*>(e);
      const Expr* value = rewrite(b->value);
      return value == b->value ? e : ctx_.broadcast(value, b->lanes);
    }
    case ExprKind::Shuffle: {
      const auto* s = static_cast<const Shuffle*>(e);
      std::vector<const Expr*> indices;
      const bool vectors_changed = rewrite_list(s->vectors, items);
      const bool indices_changed = rewrite_list(s->indices, indices);
      return vectors_changed || indices_changed ? ctx_.shuffle(items, indices) : e;
    }
    case ExprKind::Let: {
      const auto* l = static_cast<const LetExpr*>(e);
      const Expr* value = rewrite(l->value);
      const Var* var = define_var(l->var);
      const Expr* body = rewrite(l->body);
      return value == l->value && var == l->var && body == l->body ? e : ctx_.let(var, value, body);
    }
    case ExprKind::CommReducer: {
      const auto* r = static_cast<const CommReducer*>(e);
      std::vector<const Expr*> identities;
      const bool results_changed = rewrite_list(r->results, items);
      const bool identities_changed = rewrite_list(r->identities, identities);
      return results_changed || identities_changed ? ctx_.comm_reducer(r->lhs, r->rhs, items, identities) : e;
    }
    case ExprKind::Lambda: {
      const auto* l = static_cast<const Lambda*>(e);
      return rewrite_list(l->results, items) ? ctx_.lambda(l->params, items) : e;
    }
    case ExprKind::Var:
    case ExprKind::DataflowVar:
    case ExprKind::OpaqueFunc:
    case ExprKind::StringImm:
    case ExprKind::DTypeImm:
    case ExprKind::IntImm:
    case ExprKind::FloatImm:
#define RLDB_ATOM(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
      return e;  // nothing below them to rewrite
    case ExprKind::Call:
    case ExprKind::SeqExpr:
    case ExprKind::Binary:
      break;  // done above
  }
  return e;
}

const Var* Rewriter::define_var(const Var* v, const Type* type) {
  if (type == nullptr) type = rewrite_type(v->type);
  if (type == v->type) return v;
  const Var* made = v->is_dataflow() ? ctx_.dataflow_var(v->name, type) : ctx_.var(v->name, type);
  record(made, v, 0);
  remap(v, made);
  return made;
}

// A variable that has its value's type follows the value; one with a type of its own keeps it.
std::vector<const Binding*> Rewriter::default_binding(const Binding* b) {
  const Expr* value = rewrite(b->value);
  if (b->is_match_cast()) {
    const Type* to = rewrite_type(b->cast_type);
    const Var* var = define_var(b->var, b->var->type == b->cast_type ? to : nullptr);
    if (value == b->value && to == b->cast_type && var == b->var) return {b};
    return {ctx_.match_cast(var, value, to)};
  }
  const Var* var = define_var(b->var, b->var->type == b->value->type ? value->type : nullptr);
  if (value == b->value && var == b->var) return {b};
  return {ctx_.binding(var, value)};
}

const BindingBlock* Rewriter::default_block(const BindingBlock* b) {
  const bool outer = std::exchange(dataflow_, b->is_dataflow());
  std::vector<const Binding*> out;
  out.reserve(b->bindings.size());
  bool changed = false;
  for (const Binding* binding : b->bindings) {
    const std::uint32_t first_new = ctx_.node_count() + 1;
    const std::vector<const Binding*> made = visit_binding(binding);
    changed = changed || made.size() != 1 || made[0] != binding;
    for (const Binding* m : made) {
      record(m, binding, first_new);
      out.push_back(m);
    }
  }
  dataflow_ = outer;
  return changed ? ctx_.block(out, b->is_dataflow()) : b;
}

// A block that lost all its bindings is dropped.
const SeqExpr* Rewriter::default_seq(const SeqExpr* s) {
  std::vector<const BindingBlock*> blocks;
  blocks.reserve(s->blocks.size());
  bool changed = false;
  for (const BindingBlock* b : s->blocks) {
    const std::uint32_t first_new = ctx_.node_count() + 1;
    const BindingBlock* made = visit_block(b);
    record(made, b, first_new);
    changed = changed || made != b;
    if (made && (made == b || !made->bindings.empty())) blocks.push_back(made);
  }
  const Expr* body = rewrite(s->body);
  return changed || body != s->body ? ctx_.seq(blocks, body) : s;
}

const Function* Rewriter::rewrite_function(const Function* f) {
  const std::uint32_t first_new = ctx_.node_count() + 1;
  std::vector<const Var*> params;
  params.reserve(f->params.size());
  bool changed = false;
  for (const Var* p : f->params) {
    params.push_back(define_var(p));
    changed = changed || params.back() != p;
  }
  const Type* ret_type = rewrite_type(f->ret_type);
  const Span<NamedAttr> attrs = rewrite_attrs(f->attrs);
  const auto* body = cast<SeqExpr>(rewrite(static_cast<const Expr*>(f->body)));
  if (!changed && ret_type == f->ret_type && attrs.data() == f->attrs.data() && body == f->body) return f;
  const Function* made = ctx_.function(params, body, ret_type, f->is_pure, attrs);
  record(made, f, first_new);
  return made;
}

}  // namespace rldb::ir
