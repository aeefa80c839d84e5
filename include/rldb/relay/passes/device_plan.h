// DevicePlan: on which device each value of a Relay module is.
//
// The module's own words (`on_device`, `device_copy`, devices of parameters, functions and storage) are carried over
// from value to value: the operands and results of an operator are on one device, as are a variable and its value, the
// parts of a value of a data type, the branches of an `if`; fields of tuples have their own, but for those of
// parameters; shapes and sizes are on the host. A value that nothing places is on the host. Used by PlanDevices, which
// makes the copies between devices explicit, and on its result by ManifestAlloc and code generation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/relay/ir/node_map.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/runtime/device.h"

namespace rldb::relay {

struct PlannedDevice {
  runtime::Device device;
  std::string memory_scope;
  const AttrValue* attr = nullptr;  // as the text says it; null: the host that nothing mentions
};

class DevicePlan {
 public:
  // Nullopt: a value would have to be on two devices, which is diagnosed at its place.
  static std::optional<DevicePlan> of(Context& ctx, const Module* m, source::Diagnostics& out);

  // Number 0 is the host.
  const std::vector<PlannedDevice>& devices() const { return devices_; }
  bool is_host_only() const { return devices_.size() == 1; }
  std::size_t device_of(const Expr* e) const;
  // Of the i-th parameter of a function that is called, or the i-th field of a tuple; of the result of a function.
  std::size_t parameter_of(const Expr* callee, std::size_t i) const;
  std::size_t result_of(const Function* f) const;
  // That an attribute names; nullopt: none.
  std::optional<std::size_t> named(const AttrValue* attr) const;

 private:
  friend class DeviceAnalyzer;
  std::vector<PlannedDevice> devices_;
  NodeMap<std::size_t> of_;
  NodeMap<std::vector<std::size_t>> parts_;  // of functions: parameters, then the result
};

}  // namespace rldb::relay
