#include "passes/operators/call_expander.h"

#include "rldb/ir/op/call_tir_variant.h"

namespace rldb::passes {

void CallExpander::learn(const ir::Binding* b) {
  const auto* call = ir::as<ir::Call>(b->value);
  // It may overwrite operands of earlier values: those cannot be recomputed.
  if (call && (!ops::is_pure_call(call) || as_call_of(call, op::CallTirInplace))) bound_.clear();
  if (!b->is_match_cast()) bound_[b->var] = value_of(b->value);
}

}  // namespace rldb::passes
