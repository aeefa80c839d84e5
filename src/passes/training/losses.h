// Losses as functions of a model's outputs and their targets, by the names of TVM's relax.training.loss.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

// `MSELoss(reduction="sum")`, `L1Loss()`, `CrossEntropyLoss(ignore_index=-1)` for a prediction of this type: a function
// of the predictions and the targets, with one dataflow block. A failure explains what is wrong with the text; `option`
// is where it was written.
ir::Result<const ir::Function*> loss_function(ir::Context& ctx, std::string_view option,
                                              const pipeline::WrittenValue& written, const ir::Type* predictions);

}  // namespace rldb::passes
