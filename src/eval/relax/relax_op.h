// Relax operators that the evaluator knows by itself: those that no legalisation gives a body (data-dependent shapes,
// printing, shapes as values), and the `relax.run.*` functions that legalised programs call instead.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rldb/ir/expr.h"
#include "rldb/runtime/packed.h"

namespace rldb::eval {

// call_tir and friends, closures, packed calls: known to the evaluator's core.
bool is_call_family(std::string_view op);
bool has_relax_op(std::string_view op);
runtime::Result<runtime::Value> call_relax_op(std::string_view op, const ir::Call* call,
                                              const std::vector<runtime::Value>& args, runtime::Output* output);
// Whether it sets its argument, a variable, to null.
bool is_kill(std::string_view op);
runtime::Result<runtime::Value> unique(runtime::PackedArgs args);  // relax_unique.cc
// An argument as a flag; false when it is not given.
bool flag_arg(runtime::PackedArgs args, std::size_t i);
runtime::Result<runtime::Value> int64_tensor(const std::vector<std::int64_t>& values, std::vector<std::int64_t> shape);
// `relax.run.unique` and its kin; nullopt: not one of them.
std::optional<runtime::Result<runtime::Value>> call_runtime_function(std::string_view name, runtime::PackedArgs args,
                                                                     runtime::Output* output);

}  // namespace rldb::eval
