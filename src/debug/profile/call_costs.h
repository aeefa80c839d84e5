// The cost of each call, by its callee and the shapes of its arguments; computed once for each of them. Users: the
// observers of a profile.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "debug/profile/collector.h"
#include "rldb/ir/stmt.h"

namespace rldb::debug {

class CallCosts {
 public:
  // The device on which an engine runs a kernel; nullopt: it is where its tensors are.
  using DeviceOf = std::function<std::optional<runtime::Device>(std::string_view callee, const ir::PrimFunc* f)>;
  CallCosts(Profile& profile, Collector& collector, DeviceOf device_of)
      : profile_(profile), collector_(collector), device_of_(std::move(device_of)) {}

  struct Found {
    CallCost cost;
    int shapes = -1;  // of Profile::shapes
  };
  // Of a kernel; `f` null: its TensorIR is not known. `site`: where the call is, for the look-up.
  const Found& of_kernel(std::size_t site, const ir::PrimFunc* f, int callee, runtime::PackedArgs args);
  // Bytes of the tensors in the arguments and in the result, each memory once.
  static double bytes_of(runtime::PackedArgs args, const runtime::Value& result);
  // Of a copy from one device to another; nullopt: it is none, or no costs are given for either device.
  std::optional<SimulatedTime> of_copy(runtime::PackedArgs args, const runtime::Value& result) const;

 private:
  using Key = std::vector<std::int64_t>;
  struct Site {
    std::vector<std::pair<Key, Found>> known;  // the last one first
  };
  void read_key(runtime::PackedArgs args);
  DeviceCosts* costs_of(runtime::Device device) const;
  std::optional<SimulatedTime> simulated(const CallCost& cost, const std::optional<runtime::Device>& ran_on,
                                         runtime::PackedArgs args) const;
  std::optional<runtime::Device> device_of(const ir::PrimFunc* f, int callee);
  Found compute(const ir::PrimFunc* f, int callee, runtime::PackedArgs args);

  Profile& profile_;
  Collector& collector_;
  DeviceOf device_of_;
  std::unordered_map<std::size_t, Site> sites_;
  Key key_;
};

}  // namespace rldb::debug
