// What of the way forward is kept for the way back, and what is computed again: R.grad.start_checkpoint and
// R.grad.end_checkpoint say so in the text.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

// Takes the marks out of a function. Kept are parameters, what a start marks, and what follows from kept values and
// from results of an end alone.
class CheckpointRemover : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;
  const ir::Function* run(const ir::Function* f);
  bool is_kept(const ir::Var* v) const { return kept_.count(v) > 0; }
  // The variable that a marked one is another name of.
  const ir::Var* original(const ir::Var* v) const;

 protected:
  std::vector<const ir::Binding*> visit_binding(const ir::Binding* b) override;

 private:
  std::unordered_set<const ir::Var*> kept_;
  std::unordered_set<const ir::Var*> ends_;
  std::unordered_map<const ir::Var*, const ir::Var*> original_;
};

// Computes again what was not kept, where it is asked for, by bindings that go to `out`.
class Recomputer : public ir::Rewriter {
 public:
  Recomputer(ir::Context& ctx, const CheckpointRemover& marks, const ir::Function* f,
             std::vector<const ir::Binding*>& out);
  // The value of a binding in terms of what is there on the way back, and the variable that holds it.
  const ir::Expr* value_of(const ir::Binding* b);
  const ir::Var* variable_of(const ir::Binding* b, const ir::Expr* value);

 private:
  const ir::Expr* recomputed(const ir::Expr* value);

  std::vector<const ir::Binding*>& out_;
  std::unordered_map<const ir::Var*, const ir::Binding*> lost_;  // what was not kept
};

}  // namespace rldb::passes
