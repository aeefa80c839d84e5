// AppendLoss as used by other passes (SetupTrainer).
#pragma once

#include <string>

#include "passes/common.h"

namespace rldb::passes {

struct LossRequest {
  std::string function;
  pipeline::WrittenValue loss;  // the name of a function, or a loss from losses.h
  std::string_view option;      // the pass option that specifies it
  std::size_t outputs = 1;      // the number of outputs passed to the loss
  std::string new_function;
};
ir::Result<const ir::Module*> append_loss_to(PassEnv& env, const ir::Module* module, const LossRequest& request);

}  // namespace rldb::passes
