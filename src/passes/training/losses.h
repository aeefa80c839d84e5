// Losses as functions of a model's outputs and what they should be, by the names of TVM's relax.training.loss.
#pragma once

#include "passes/common.h"

namespace rldb::passes {

// `MSELoss(reduction="sum")`, `L1Loss()`, `CrossEntropyLoss(ignore_index=-1)` of a prediction of this type: a function
// of the predictions and the targets, one dataflow block. A failure says what the text is not; `option` is where it was
// written.
ir::Result<const ir::Function*> loss_function(ir::Context& ctx, std::string_view option, std::string_view text,
                                              const ir::Type* predictions);
// The text is written like a loss, not like the name of a function.
bool is_loss_text(std::string_view text);

}  // namespace rldb::passes
