// What LiftTransformParams can compute ahead of time: which bindings of a function need its weights only.
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
  std::vector<const ir::Binding*> lifted;  // in order: of dataflow blocks, of weights and of what needs nothing
  VarSet from_weights;                     // weights, and lifted variables that need one
  VarSet at_runtime;                       // what is read by what stays, symbolic variables included

  std::vector<const ir::Var*> weights() const;
  // What the function is given in place of its weights: weights that it reads, then lifted variables.
  std::vector<const ir::Var*> outputs() const;
  // Symbolic variables that it needs and nothing else that it is given binds.
  std::vector<const ir::Var*> passed_symbols(const std::vector<const ir::Var*>& outputs, bool with_inputs) const;
};

// One transform for several functions: their weights are the same. Everything is said in terms of the first one.
struct SharedPlan {
  LiftPlan plan;           // of the first function, with what all functions need
  ir::VarMap counterpart;  // a variable or symbolic variable of any function, and that of the first
};

LiftPlan plan_lift(std::string_view name, const ir::Function* f);
// Fails when the weights of two functions have different types.
ir::Result<SharedPlan> plan_shared(ir::Context& ctx, std::vector<LiftPlan>& plans);

}  // namespace rldb::passes
