// The part of a function that LiftTransformParams can compute ahead of time: bindings that depend on its weights only.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "passes/common.h"
#include "rldb/ir/walk.h"

namespace rldb::passes {

using VarSet = std::unordered_set<const ir::Var*>;

// A function whose parameters from `inputs` on are weights.
struct LiftPlan {
  std::string_view name;
  const ir::Function* function = nullptr;
  std::size_t inputs = 0;
  std::vector<const ir::Binding*> lifted;  // in order: bindings of dataflow blocks that depend on weights or on nothing
  VarSet from_weights;                     // weights, and lifted variables that depend on one
  VarSet at_runtime;                       // variables read by the remaining bindings, symbolic ones included

  std::vector<const ir::Var*> weights() const;
  // The function's arguments in place of its weights: weights that it reads, then lifted variables.
  std::vector<const ir::Var*> outputs() const;
  // Symbolic variables that it needs and that none of its other arguments binds.
  std::vector<const ir::Var*> passed_symbols(const std::vector<const ir::Var*>& outputs, bool with_inputs) const;
};

// One transform for several functions with the same weights. Everything is expressed in terms of the first function.
struct SharedPlan {
  LiftPlan plan;           // of the first function, covering the needs of all
  ir::VarMap counterpart;  // a variable or symbolic variable of any function, to that of the first
};

LiftPlan plan_lift(std::string_view name, const ir::Function* f);
// Fails when the weights of two functions have different types.
ir::Result<SharedPlan> plan_shared(ir::Context& ctx, std::vector<LiftPlan>& plans);

}  // namespace rldb::passes
