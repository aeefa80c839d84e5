// ExprVisitor over the walk of walk.h, and the bindings that an ExprMutator emits.
#include "rldb/ir/visitor.h"

#include "rldb/ir/block_builder.h"
#include "rldb/ir/stmt.h"
#include "rldb/support/cancel.h"

namespace rldb::ir {

namespace {

std::vector<const Expr*> leaves_of(Context& ctx, Span<const Expr*> operands, const BindOperand& bind, bool& changed) {
  std::vector<const Expr*> out;
  for (const Expr* e : operands) {
    support::poll();
    // A tuple is written in place; everything else has a name.
    const Expr* leaf = is_leaf(e) ? e : with_leaves(ctx, e, bind);
    if (!is_leaf(leaf) && !isa<Tuple>(leaf)) leaf = bind(leaf);
    changed = changed || leaf != e;
    out.push_back(leaf);
  }
  return out;
}

}  // namespace

const Expr* with_leaves(Context& ctx, const Expr* value, const BindOperand& bind) {
  bool changed = false;
  if (const auto* tuple = as<Tuple>(value)) {
    const std::vector<const Expr*> items = leaves_of(ctx, tuple->items, bind, changed);
    return changed ? ctx.tuple(items) : value;
  }
  if (const auto* call = as<Call>(value); call && !is_leaf(call)) {
    const std::vector<const Expr*> args = leaves_of(ctx, call->args, bind, changed);
    return changed ? ctx.call_typed(call->callee, args, call->type, call->attrs, call->ty_args) : value;
  }
  if (const auto* branch = as<If>(value); branch && !is_leaf(branch->cond)) {
    const Expr* cond = bind(with_leaves(ctx, branch->cond, bind));
    return ctx.if_expr(cond, branch->then_branch, branch->else_branch, branch->type);
  }
  if (const auto* get = as<TupleGetItem>(value); get && !is_leaf(get->tuple)) {
    const Expr* tuple = bind(with_leaves(ctx, get->tuple, bind));
    auto made = ctx.tuple_get(tuple, get->index);
    RLDB_CHECK(made.ok(), "a tuple under a name has the fields that it had");
    return *made;
  }
  return value;
}

void ExprVisitor::visit(const Node* root) {
  walk(root, [this](const Node* n) {
    if (const auto* block = as<BindingBlock>(n)) return visit_block(block);
    if (const auto* binding = as<Binding>(n)) return visit_binding(binding);
    if (const auto* stmt = as<Stmt>(n)) return visit_stmt(stmt);
    if (const auto* buffer = as<Buffer>(n)) return visit_buffer(buffer);
    const auto* e = as<Expr>(n);
    if (!e) return true;
    switch (e->expr_kind()) {
      case ExprKind::Var:
      case ExprKind::DataflowVar:
        return visit_var(static_cast<const Var*>(e));
      case ExprKind::GlobalVar:
        return visit_global_var(static_cast<const GlobalVar*>(e));
      case ExprKind::Constant:
        return visit_constant(static_cast<const Constant*>(e));
      case ExprKind::ShapeExpr:
        return visit_shape(static_cast<const ShapeExpr*>(e));
      case ExprKind::ExternFunc:
        return visit_extern_func(static_cast<const ExternFunc*>(e));
      case ExprKind::Op:
        return visit_op(static_cast<const Op*>(e));
      case ExprKind::Call:
        return visit_call(static_cast<const Call*>(e));
      case ExprKind::Tuple:
        return visit_tuple(static_cast<const Tuple*>(e));
      case ExprKind::TupleGetItem:
        return visit_tuple_get_item(static_cast<const TupleGetItem*>(e));
      case ExprKind::If:
        return visit_if(static_cast<const If*>(e));
      case ExprKind::SeqExpr:
        return visit_seq(static_cast<const SeqExpr*>(e));
      case ExprKind::Function:
        return visit_function(static_cast<const Function*>(e));
      case ExprKind::PrimFunc:
        return visit_prim_func(static_cast<const PrimFunc*>(e));
      case ExprKind::MetaConstant:
      case ExprKind::OpaqueFunc:
      case ExprKind::Binary:
#define RLDB_NUMBER(Kind, ...) case ExprKind::Kind:
#define RLDB_WORD(Kind, ...) case ExprKind::Kind:
#define RLDB_TENSOR(Kind, ...) case ExprKind::Kind:
#define RLDB_SCALAR(Kind, ...) case ExprKind::Kind:
#include "rldb/ir/node.def"
        return visit_other(e);
    }
    return true;
  });
}

const Expr* ExprMutator::emit(const Expr* value, std::string_view hint) {
  RLDB_CHECK(!pending_.empty(), "a value is emitted while a binding is being visited");
  if (is_leaf(value)) return value;
  const Expr* flat = with_leaves(ctx_, value, [this](const Expr* operand) { return emit(operand); });
  if (hint.empty()) hint = dataflow_ ? "lv" : "gv";
  const Var* v = dataflow_ ? ctx_.dataflow_var(hint, flat->type) : ctx_.var(hint, flat->type);
  const Binding* b = ctx_.binding(v, flat);
  for (const Node* made : {static_cast<const Node*>(v), static_cast<const Node*>(b), static_cast<const Node*>(flat)})
    if (made != value) ctx_.set_origin(made, value);
  pending_.back().push_back(b);
  values_[v] = flat;
  return v;
}

const Expr* ExprMutator::value_of(const Expr* e) const {
  const auto* v = as<Var>(e);
  const auto found = v ? values_.find(v) : values_.end();
  return found == values_.end() ? e : found->second;
}

const Binding* ExprMutator::normalized(const Binding* b) {
  const Expr* value = with_leaves(ctx_, b->value, [this](const Expr* operand) { return emit(operand); });
  values_[b->var] = value;
  if (value == b->value) return b;
  const Binding* made = b->is_match_cast() ? ctx_.match_cast(b->var, value, b->cast_type) : ctx_.binding(b->var, value);
  ctx_.set_origin(made, b);
  return made;
}

std::vector<const Binding*> ExprMutator::visit_binding(const Binding* b) {
  pending_.emplace_back();
  std::vector<const Binding*> made = default_binding(b);
  for (const Binding*& m : made) m = normalized(m);
  std::vector<const Binding*> out = std::move(pending_.back());
  pending_.pop_back();
  out.insert(out.end(), made.begin(), made.end());
  return out;
}

// Operands of the result are bound in a block of their own, after the others.
const SeqExpr* ExprMutator::visit_seq(const SeqExpr* s) {
  const bool outer = std::exchange(dataflow_, false);
  pending_.emplace_back();
  const SeqExpr* made = default_seq(s);
  const Expr* result = isa<Tuple>(made->body) ? with_leaves(ctx_, made->body, [this](const Expr* e) { return emit(e); })
                                              : emit(made->body);
  const std::vector<const Binding*> last = std::move(pending_.back());
  pending_.pop_back();
  dataflow_ = outer;
  if (last.empty() && result == made->body) return made;
  std::vector<const BindingBlock*> blocks(made->blocks.begin(), made->blocks.end());
  if (!last.empty()) blocks.push_back(ctx_.block(last));
  return ctx_.seq(blocks, result);
}

}  // namespace rldb::ir
