// Relax operators that the evaluator implements itself: those without a body by legalisation (data-dependent shapes,
// printing, shapes as values), and the `relax.run.*` functions that legalised programs call instead.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rldb/ir/op_traits.h"
#include "rldb/runtime/packed.h"

namespace rldb::eval {

// A call of an operator whose arguments are evaluated.
struct OpCall {
  std::string_view op;  // full name
  const std::vector<runtime::Value>& args;
  runtime::Output* output;
  const runtime::DeviceList& devices;
};
using OpFn = runtime::Result<runtime::Value> (*)(const OpCall& call);

// The function that computes a call of the operator; null when it has no meaning here. Operators that are calls
// themselves, and kills, are in the evaluator's core (relax.cc).
OpFn find_relax_op(op::Id id);
runtime::Result<runtime::Value> unique(runtime::PackedArgs args);  // relax_unique.cc
// An argument as a flag; false when it is not given.
bool flag_arg(runtime::PackedArgs args, std::size_t i);
runtime::Result<runtime::Value> int64_tensor(const std::vector<std::int64_t>& values, std::vector<std::int64_t> shape);
// `relax.run.unique` and its kin; nullopt: not one of them.
std::optional<runtime::Result<runtime::Value>> call_runtime_function(std::string_view name, runtime::PackedArgs args,
                                                                     runtime::Output* output);

}  // namespace rldb::eval
