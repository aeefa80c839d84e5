// The calls that say where values are, in the text: `on_device`, `device_copy`. Room-private.
#pragma once

#include "rldb/relay/passes/device_plan.h"

namespace rldb::relay {

class DeviceCalls {
 public:
  DeviceCalls(Context& ctx, const DevicePlan& plan) : ctx_(ctx), plan_(plan), attrs_(plan.devices().size()) {}

  // The device as a value of an attribute.
  const AttrValue* attr(std::size_t device);
  // Says that it is there; copies nothing.
  const Expr* on_device(const Expr* x, std::size_t device);
  const Expr* copy(const Expr* x, std::size_t from, std::size_t to);

 private:
  Context& ctx_;
  const DevicePlan& plan_;
  std::vector<const AttrValue*> attrs_;
};

}  // namespace rldb::relay
