// Which values of the forward pass are kept for the backward pass, and which are recomputed: R.grad.start_checkpoint
// and R.grad.end_checkpoint mark this in the text.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Removes the markers from a function. Kept values are parameters, values marked by a start, and those that depend only
// on kept values and on results of an end.
class CheckpointRemover : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;
  const ir::Function* run(const ir::Function* f);
  bool is_kept(const ir::Var* v) const { return kept_.count(v) > 0; }
  // The variable of which a marked one is an alias.
  const ir::Var* original(const ir::Var* v) const;

 protected:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;

 private:
  std::unordered_set<const ir::Var*> kept_;
  std::unordered_set<const ir::Var*> ends_;
  std::unordered_map<const ir::Var*, const ir::Var*> original_;
};

// Recomputes discarded values where they are needed, by bindings appended to `out`.
class Recomputer : public ir::Rewriter {
 public:
  Recomputer(ir::Context& ctx, const CheckpointRemover& marks, const ir::Function* f,
             std::vector<const ir::Binding*>& out);
  // The value of a binding in terms of values available in the backward pass, and the variable that holds it.
  const ir::Expr* value_of(const ir::Binding* b);
  const ir::Var* variable_of(const ir::Binding* b, const ir::Expr* value);

 private:
  const ir::Expr* recomputed(const ir::Expr* value);

  std::vector<const ir::Binding*>& out_;
  std::unordered_map<const ir::Var*, const ir::Binding*> lost_;  // discarded values
};

}  // namespace rldb::passes
