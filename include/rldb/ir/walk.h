// Walks and rewrites over Relax and TensorIR.
//
// `for_each_use` lists the direct children of a node in field order; `walk` visits all nodes below one (pre-order,
// explicit stack, shared nodes visited at each occurrence unless requested otherwise). `Rewriter` rebuilds what changed
// and shares the rest: override the hook of a kind, call the base to descend; it records provenance and re-infers
// types of calls whose arguments changed. Types are rewritten too when a variable inside them is replaced.
#pragma once

#include <functional>
#include <unordered_map>

#include "rldb/ir/context.h"

namespace rldb::ir {

// Children that are read (not the variables that a node defines, not types).
void for_each_use(const Node* n, const std::function<void(const Node*)>& f);
// Every node below and including `n`, parents first. Returning false from `f` does not descend.
void walk(const Node* n, const std::function<bool(const Node*)>& f);
// Variables of a type, in order of first appearance.
void collect_vars(const Type* t, std::vector<const Var*>& out);
void collect_vars(const Expr* e, std::vector<const Var*>& out);
// Free variables of a node: used but not defined inside.
std::vector<const Var*> free_vars(const Node* n);

// Scalar variables in expressions, shapes and types, and Relax variables.
using VarMap = std::unordered_map<const Var*, const Expr*>;
const Expr* substitute(Context& ctx, const Expr* e, const VarMap& map);
const Stmt* substitute(Context& ctx, const Stmt* s, const VarMap& map);
const Type* substitute(Context& ctx, const Type* t, const VarMap& map);

class Rewriter {
 public:
  explicit Rewriter(Context& ctx) : ctx_(ctx) {}
  virtual ~Rewriter() = default;

  // Entry points. The result is the same pointer when nothing changed; null stays null.
  const Expr* rewrite(const Expr* e);
  const Stmt* rewrite(const Stmt* s);
  const Type* rewrite_type(const Type* t);
  const Attr* rewrite_attr(const Attr* a);
  Span<NamedAttr> rewrite_attrs(Span<NamedAttr> attrs);
  const Function* rewrite_function(const Function* f);
  const PrimFunc* rewrite_prim_func(const PrimFunc* f);

 protected:
  // One hook per group; the defaults rebuild from rewritten children. To delete a binding, return an empty list;
  // to delete a statement, null. Long left-deep chains of operators are visited from the bottom up, so that their
  // depth does not cost C stack: a hook may see an operand before the operator.
  virtual const Expr* visit_expr(const Expr* e);
  virtual const Expr* visit_call(const Call* call);
  virtual const Expr* visit_var(const Var* v);  // a use, in types too
  virtual const Stmt* visit_stmt(const Stmt* s);
  virtual const Buffer* visit_buffer(const Buffer* b);
  virtual std::vector<const Binding*> visit_binding(const Binding* b);
  virtual const BindingBlock* visit_block(const BindingBlock* b);
  virtual const SeqExpr* visit_seq(const SeqExpr* s);

  // Rebuild the node itself from rewritten children. default_expr calls visit_call, visit_var or visit_seq for nodes
  // of those kinds, unless called by that very hook.
  const Expr* default_expr(const Expr* e);
  const Stmt* default_stmt(const Stmt* s);
  std::vector<const Binding*> default_binding(const Binding* b);
  const BindingBlock* default_block(const BindingBlock* b);
  const SeqExpr* default_seq(const SeqExpr* s);
  // A variable at its definition: created anew, and remapped, when its type changed (or is given).
  const Var* define_var(const Var* v, const Type* type = nullptr);

  // Whether the binding being visited is part of a dataflow block.
  bool in_dataflow() const { return dataflow_; }

  // From now on uses of `from` become `to` (also inside types).
  void remap(const Var* from, const Expr* to) { vars_[from] = to; }
  const Expr* lookup(const Var* v) const;
  void remap_buffer(const Buffer* from, const Buffer* to) { buffers_[from] = to; }

  Context& ctx_;
  bool dataflow_ = false;  // see in_dataflow()
  VarMap vars_;
  std::unordered_map<const Buffer*, const Buffer*> buffers_;

 private:
  void record(const Node* made, const Node* from, std::uint32_t first_new);
  void rewrite_spine(const Expr* top);
  const Expr* rebuild(const Expr* e);
  const Expr* rebuild_call(const Call* call);
  const Expr* rebuild_if(const If* e);
  const Stmt* rebuild_for(const ForStmt* s);
  const Stmt* rebuild_block(const SBlock* s);
  const Stmt* rebuild_seq(const SeqStmt* s);
  bool rewrite_list(Span<const Expr*> from, std::vector<const Expr*>& to);
  bool rewrite_types(Span<const Type*> from, std::vector<const Type*>& to);
  bool rewrite_regions(Span<BufferRegion> from, std::vector<BufferRegion>& to);
  BufferRegion rewrite_region(const BufferRegion& r, bool& changed);
  const Expr* type_expr(const Expr* e);
  bool type_dims(Span<const Expr*> from, std::vector<const Expr*>& to);

  int spine_depth_ = 0;
  const Expr* in_hook_ = nullptr;                      // the node whose hook is running
  std::unordered_map<const Expr*, const Expr*> done_;  // lower parts of a chain being rewritten
};

}  // namespace rldb::ir
