// Conditions of breakpoints inside kernels, as TensorIR: evaluated by the machine code itself.
#pragma once

#include <functional>
#include <optional>

#include "debug/kernel/instrument.h"
#include "debug/kernel/text.h"
#include "rldb/expression/expression.h"
#include "rldb/ir/context.h"

namespace rldb::debug {

// Names available to a condition at its place: scalar variables and buffers of the kernel (null: none with that name).
// `number`: what a name, or a part without names of the kernel (`x.max()`), has as its value outside: a number, or a
// tensor of one element that the kernel does not write. `tensor`: any other tensor that it does not write.
struct ConditionScope {
  std::function<const ir::Var*(std::string_view)> variable;
  std::function<const ir::Buffer*(std::string_view)> buffer;
  std::function<std::optional<runtime::Value>(std::string_view)> number, tensor;
};

// The names available where a probe arrives; the caller may add numbers.
ConditionScope scope_of(const KernelText& text, const Probe& probe);

// It holds exactly where `evaluate` finds the condition true, or cannot tell (an index outside its buffer). None: some
// part has no such form; then the evaluator decides.
ConditionCode compile_condition(ir::Context& ctx, const expression::Expression& condition, const ConditionScope& scope);

}  // namespace rldb::debug
