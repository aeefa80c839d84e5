// Optimizers as functions over tuples of parameters, gradients and states, by the names of TVM's
// relax.training.optimizer.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

struct Optimizer {
  const ir::Function* function = nullptr;          // (params, gradients, optim_states) -> (params, optim_states)
  std::vector<const ir::Constant*> initial_state;  // before the first step
};
// `SGD(0.1, weight_decay=0.01)`, `MomentumSGD(0.1, 0.9)`, `Adam(0.001)` for these parameters, which are float tensors
// of known shape. A failure explains what is wrong with the text.
ir::Result<Optimizer> optimizer_of(ir::Context& ctx, const pipeline::WrittenValue& written,
                                   const std::vector<const ir::Var*>& parameters);

}  // namespace rldb::passes
