// Tables shared by the functions of a module: indices of functions, constants, primitives. Room-private.
#pragma once

#include <map>
#include <unordered_map>

#include "rldb/relay/codegen/compile.h"
#include "rldb/relay/passes/device_plan.h"

namespace rldb::relay {

class Tables {
 public:
  Tables(Context& ctx, const Module* m, const DevicePlan& plan, CompiledModule& made, source::Diagnostics& out);

  std::int64_t function(std::string_view name) const;  // -1: none
  const Function* definition(std::string_view name) const { return module_->find(name); }
  // Index into the pool; one entry per tensor and device, and small tensors with equal elements share one.
  std::size_t constant(const runtime::Tensor* tensor, std::size_t device);
  // The index of a primitive: functions with the same text are one.
  std::size_t compute(const Function* f);
  std::size_t shape_of_result(const Function* f, bool from_values);
  std::size_t copy();

  Context& ctx;
  relay_bytecode::Executable& exe;
  source::Diagnostics& out;
  const DevicePlan& plan;
  const TextNames* names = nullptr;  // the names of variables in the text
  TypeOfVariable types;              // their types, where the text has none; may be empty

 private:
  std::size_t add_constant(runtime::Value tensor, std::size_t device);
  std::size_t add_kernel(const std::string& key, std::string name, Kernel kernel);

  const Module* module_;
  std::vector<Kernel>& kernels_;
  std::unordered_map<std::string_view, std::int64_t> functions_;
  std::map<std::pair<const runtime::Tensor*, std::size_t>, std::size_t> tensors_;  // by tensor and device
  std::map<std::string, std::size_t> small_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::unordered_map<std::string, int> names_;
};

}  // namespace rldb::relay
