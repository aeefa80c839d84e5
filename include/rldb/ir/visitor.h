// ExprVisitor and ExprMutator: bases for code that inspects functions, and for code that changes them.
//
// ExprVisitor has a hook for each kind of Relax expression and one for each kind of part; ExprMutator is a Rewriter
// (walk.h) that can bind new values before the current binding. Users: passes, and programs that build on rldb
// (docs/building-on-rldb.md).
#pragma once

#include "rldb/ir/walk.h"

namespace rldb::ir {

class ExprVisitor {
 public:
  virtual ~ExprVisitor() = default;
  // The node and everything below it, parents first, in the order of the text. Depth does not use the C stack.
  void visit(const Node* n);

 protected:
  // False: nothing below the node is visited.
  virtual bool visit_var(const Var*) { return true; }  // a use
  virtual bool visit_global_var(const GlobalVar*) { return true; }
  virtual bool visit_constant(const Constant*) { return true; }
  virtual bool visit_shape(const ShapeExpr*) { return true; }
  virtual bool visit_extern_func(const ExternFunc*) { return true; }
  virtual bool visit_op(const Op*) { return true; }
  virtual bool visit_call(const Call*) { return true; }
  virtual bool visit_tuple(const Tuple*) { return true; }
  virtual bool visit_tuple_get_item(const TupleGetItem*) { return true; }
  virtual bool visit_if(const If*) { return true; }
  virtual bool visit_seq(const SeqExpr*) { return true; }
  virtual bool visit_function(const Function*) { return true; }
  virtual bool visit_prim_func(const PrimFunc*) { return true; }
  virtual bool visit_block(const BindingBlock*) { return true; }
  virtual bool visit_binding(const Binding*) { return true; }  // var_binding and match_cast
  // Expressions that are none of these: literals and scalar arithmetic.
  virtual bool visit_other(const Expr*) { return true; }
  virtual bool visit_stmt(const Stmt*) { return true; }  // of TensorIR
  virtual bool visit_buffer(const Buffer*) { return true; }
};

// The value with leaves as its operands, recursively; `bind` returns a leaf for an operand that is not one.
using BindOperand = std::function<const Expr*(const Expr* operand)>;
const Expr* with_leaves(Context& ctx, const Expr* value, const BindOperand& bind);

class ExprMutator : public Rewriter {
 public:
  using Rewriter::Rewriter;
  // A block by itself, as passed to passes on dataflow blocks.
  const BindingBlock* rewrite_block(const BindingBlock* b) { return visit_block(b); }

 protected:
  // A variable for the value, bound before the binding (or the result of the sequence) that is being visited; a leaf is
  // returned unchanged. Hooks may also return nested calls: their operands are bound in the same way.
  // No hint: lv in a dataflow block, else gv.
  const Expr* emit(const Expr* value, std::string_view hint = {});
  // The value that a variable is bound to, after rewriting; the expression itself if it is not bound yet (a parameter)
  // or is not a variable.
  const Expr* value_of(const Expr* e) const;

  // A class that overrides one of these calls it for cases that it does not handle itself.
  std::vector<const Binding*> visit_binding(const Binding* b) override;
  const SeqExpr* visit_seq(const SeqExpr* s) override;

 private:
  const Binding* normalized(const Binding* b);

  std::vector<std::vector<const Binding*>> pending_;  // emitted bindings, by the binding being visited
  std::unordered_map<const Var*, const Expr*> values_;
};

}  // namespace rldb::ir
