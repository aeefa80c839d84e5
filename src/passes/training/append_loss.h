// AppendLoss as other passes ask for it (SetupTrainer).
#pragma once

#include <string>

#include "passes/common.h"

namespace rldb::passes {

struct LossRequest {
  std::string function;
  std::string loss;         // the name of a function, or a loss of losses.h
  std::string_view option;  // of the pass, that says it
  std::size_t outputs = 1;  // that the loss takes
  std::string new_function;
};
ir::Result<const ir::Module*> append_loss_to(PassEnv& env, const ir::Module* module, const LossRequest& request);

}  // namespace rldb::passes
