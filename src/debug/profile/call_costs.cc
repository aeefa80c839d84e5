// The key of a call is the shapes of its arguments; each key is computed once for a call site.
#include "debug/profile/call_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "debug/look/kernel_cost.h"

namespace rldb::debug {

using runtime::PackedArgs;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kMostShapes = 10'000;  // kept as text
constexpr std::size_t kMostPerSite = 64;     // kept for the look-up

std::string shapes_text(PackedArgs args) {
  std::vector<std::string> texts;
  for (const Value& v : args)
    if (v.is(ValueKind::Tensor))
      texts.push_back(fmt::format("({}) {}", fmt::join(v.as_tensor().shape(), ", "), to_string(v.as_tensor().dtype())));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void add_bytes(const Value& v, std::unordered_set<const std::byte*>& seen, double& bytes, int depth = 0) {
  constexpr int kMaxDepth = 8;
  if (v.is(ValueKind::Tensor) && seen.insert(v.as_tensor().address()).second)
    bytes += double(v.as_tensor().byte_size());
  if (v.is(ValueKind::Tuple) && depth < kMaxDepth)
    for (const Value& field : v.as_tuple().fields) add_bytes(field, seen, bytes, depth + 1);
}

// The kernel's shape variables, by the tensors and integers that it was given.
AmountOf variables_of(const ir::PrimFunc* f, PackedArgs args) {
  AmountOf vars;
  for (std::size_t i = 0; i < f->params.size() && i < args.size(); ++i) {
    if (args[i].is(ValueKind::Tensor)) {
      std::vector<Amount> dims;
      for (const std::int64_t d : args[i].as_tensor().shape()) dims.emplace_back(double(d));
      bind_dims(vars, f->params[i].buffer, dims);
    }
    if (args[i].is(ValueKind::Int)) vars.emplace(f->params[i].var, Amount(double(args[i].as_int())));
  }
  return vars;
}

bool computes_f64(PackedArgs args) {
  return std::any_of(args.begin(), args.end(), [](const Value& v) {
    return v.is(ValueKind::Tensor) && v.as_tensor().dtype() == runtime::DType::Float(64);
  });
}

}  // namespace

double CallCosts::bytes_of(PackedArgs args, const Value& result) {
  std::unordered_set<const std::byte*> seen;
  double bytes = 0;
  for (const Value& v : args) add_bytes(v, seen, bytes);
  add_bytes(result, seen, bytes);
  return bytes;
}

void CallCosts::read_key(PackedArgs args) {
  key_.clear();
  for (const Value& v : args) {
    if (v.is(ValueKind::Tensor)) {
      const std::vector<std::int64_t>& shape = v.as_tensor().shape();
      key_.push_back(-1 - std::int64_t(shape.size()));
      if (!profile_.devices.empty()) {
        const runtime::Device device = v.as_tensor().device();
        key_.insert(key_.end(), {device.type, device.id});
      }
      key_.insert(key_.end(), shape.begin(), shape.end());
    } else {
      key_.push_back(v.is(ValueKind::Int) ? v.as_int() : -1);
    }
  }
}

const CallCosts::Found& CallCosts::of_kernel(std::size_t site, const ir::PrimFunc* f, int callee, PackedArgs args) {
  read_key(args);
  auto& known = sites_[site].known;
  const auto it = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first == key_; });
  if (it != known.end()) {
    if (it != known.begin()) std::iter_swap(it, known.begin());
    return known.front().second;
  }
  collector_.pause();
  if (known.size() >= kMostPerSite) known.pop_back();
  known.insert(known.begin(), {key_, compute(f, callee, args)});
  collector_.resume();
  return known.front().second;
}

DeviceCosts* CallCosts::costs_of(runtime::Device device) const {
  for (DeviceCosts& d : profile_.devices)
    if (d.device == device) return &d;
  return nullptr;
}

std::optional<runtime::Device> CallCosts::device_of(const ir::PrimFunc* f, int callee) {
  if (!f) return std::nullopt;  // a function of the host
  const auto device = device_of_(profile_.callees[std::size_t(callee)].name, f);
  std::vector<runtime::Device>& known = profile_.kernel_devices;
  if (device && std::find(known.begin(), known.end(), *device) == known.end()) known.push_back(*device);
  return device;
}

// A kernel computes while it moves data: the longer of the two counts.
std::optional<SimulatedTime> CallCosts::simulated(const CallCost& cost, const std::optional<runtime::Device>& ran_on,
                                                  PackedArgs args) const {
  const auto first = std::find_if(args.begin(), args.end(), [](const Value& v) { return v.is(ValueKind::Tensor); });
  if (first == args.end()) return std::nullopt;
  DeviceCosts* d = costs_of(ran_on ? *ran_on : first->as_tensor().device());
  if (!d) return std::nullopt;
  d->used = true;
  SimulatedTime t;
  t.latency = d->latency_ns;
  const double computing = d->operations > 0 ? 1e9 * cost.operations / d->operations : 0;
  const double moving = d->bytes > 0 ? 1e9 * cost.bytes / d->bytes : 0;
  (computing > moving ? t.operations : t.memory) = std::max(computing, moving);
  return t;
}

std::optional<SimulatedTime> CallCosts::of_copy(PackedArgs args, const Value& result) const {
  if (profile_.devices.empty() || args.empty() || !args[0].is(ValueKind::Tensor) || !result.is(ValueKind::Tensor))
    return std::nullopt;
  const runtime::Device from = args[0].as_tensor().device(), to = result.as_tensor().device();
  if (from == to) return std::nullopt;
  SimulatedTime t;
  bool known = false;
  for (DeviceCosts* d : {costs_of(from), costs_of(to)}) {
    if (!d) continue;
    d->used = known = true;
    t.latency = std::max(t.latency, d->latency_ns);
    if (d->link > 0) t.link = std::max(t.link, 1e9 * double(result.as_tensor().byte_size()) / d->link);
  }
  return known ? std::optional(t) : std::nullopt;
}

CallCosts::Found CallCosts::compute(const ir::PrimFunc* f, int callee, PackedArgs args) {
  Found found;
  if (profile_.shapes.size() < kMostShapes) {
    found.shapes = int(profile_.shapes.size());
    profile_.shapes.push_back(shapes_text(args));
  }
  found.cost.bytes_known = true;
  found.cost.bytes = bytes_of(args, {});
  const std::optional<runtime::Device> ran_on = device_of(f, callee);
  if (!f) {
    found.cost.simulated = simulated(found.cost, ran_on, args);
    return found;
  }
  const KernelCost cost = kernel_cost(f, variables_of(f, args));
  std::string& unknown = profile_.callees[std::size_t(callee)].unknown;
  if (!cost.unknown.empty()) unknown = cost.unknown;
  const std::optional<double> operations = cost.operations.number();
  if (!operations) {
    unknown = "dims that its arguments do not give";
    found.cost.simulated = simulated(found.cost, ran_on, args);
    return found;
  }
  found.cost.operations_known = true;
  found.cost.operations = *operations;
  found.cost.simulated = simulated(found.cost, ran_on, args);
  const PeakRates& peaks = profile_.peaks;
  const double rate = computes_f64(args) ? peaks.f64_operations : peaks.f32_operations;
  if (rate > 0 && peaks.bytes > 0)
    found.cost.attainable_ns = 1e9 * std::max(found.cost.operations / rate, found.cost.bytes / peaks.bytes);
  return found;
}

}  // namespace rldb::debug
