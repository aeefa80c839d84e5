// Conditions of breakpoints inside kernels, as TensorIR: judged by the machine code itself.
#pragma once

#include <functional>
#include <optional>

#include "debug/expression/expression.h"
#include "debug/kernel/instrument.h"
#include "debug/kernel/text.h"
#include "rldb/ir/context.h"

namespace rldb::debug {

// What a condition may name at its place: scalar variables and buffers of the kernel (null: none of that name), and
// numbers from outside of it.
struct ConditionScope {
  std::function<const ir::Var*(std::string_view)> variable;
  std::function<const ir::Buffer*(std::string_view)> buffer;
  std::function<std::optional<runtime::Value>(std::string_view)> number;
};

// What has a name where a probe arrives; numbers are the caller's to add.
ConditionScope scope_of(const KernelText& text, const Probe& probe);

// A bool expression that holds exactly where `evaluate` finds the condition true, or cannot tell (an index outside of
// its buffer). Null: something in it has no such form; the evaluator judges it then.
const ir::Expr* compile_condition(ir::Context& ctx, const Expression& condition, const ConditionScope& scope);

}  // namespace rldb::debug
