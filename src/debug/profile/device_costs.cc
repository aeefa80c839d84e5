// The costs of devices: as text, and of the copies of a run.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "rldb/debug/profile.h"
#include "rldb/source/diagnostic_command.h"

namespace rldb::debug {

namespace {

struct CostField {
  std::string_view name, unit;
  double DeviceCosts::*to;
  double scale;  // of the unit
};
constexpr CostField kCostFields[] = {{"flops", "", &DeviceCosts::operations, 1},
                                     {"bytes", "", &DeviceCosts::bytes, 1},
                                     {"link", "", &DeviceCosts::link, 1},
                                     {"latency", "s", &DeviceCosts::latency_ns, 1e9}};

constexpr double kLeastRate = 1, kHighestRate = 1e24, kLongestTime = 1e6, kShortestTime = 1e-12;  // a second; seconds

// `500G`, `1.5e12`; `5us` of the unit `s`. Above 0.
std::optional<double> quantity(std::string_view text, std::string_view unit) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest(end, std::size_t(text.data() + text.size() - end));
  if (!rest.ends_with(unit)) return std::nullopt;
  rest.remove_suffix(unit.size());
  constexpr std::string_view kPrefixes = "num kMGTP";
  const std::size_t at = rest.empty() ? kPrefixes.find(' ') : kPrefixes.find(rest[0]);
  if (rest.size() > 1 || at == std::string_view::npos || (!rest.empty() && rest[0] == ' ')) return std::nullopt;
  n *= std::pow(1000.0, double(at) - double(kPrefixes.find(' ')));
  return n > 0 && std::isfinite(n) ? std::optional(n) : std::nullopt;
}

// Empty, or why not.
std::string read_cost(std::string_view item, DeviceCosts& costs) {
  const std::size_t equal = item.find('=');
  const std::string_view name = item.substr(0, equal);
  const auto* field =
      std::find_if(std::begin(kCostFields), std::end(kCostFields), [&](const CostField& f) { return f.name == name; });
  if (field == std::end(kCostFields) || equal == std::string_view::npos)
    return fmt::format("`{}` is not one of flops=N, bytes=N, link=N or latency=TIME", item);
  if (costs.*field->to > 0) return fmt::format("`{}` is given twice", name);
  const std::string_view value = item.substr(equal + 1);
  const auto n = quantity(value, field->unit);
  if (!n)
    return fmt::format("`{}` is not a {}: expected one like {}", value,
                       field->unit.empty() ? "rate above 0" : "time above 0", field->unit.empty() ? "500G" : "5us");
  if (field->unit.empty() ? *n < kLeastRate || *n > kHighestRate : *n < kShortestTime || *n > kLongestTime)
    return fmt::format("`{}` is out of range: {}", value,
                       field->unit.empty() ? "rates are from 1 to 1e24 a second" : "times are from 1e-12 s to 1e6 s");
  costs.*field->to = *n * field->scale;
  return {};
}

ir::Result<DeviceCosts> costs_of(std::string_view text) {
  const auto refused = [&](const std::string& why) {
    return support::Failure(source::message(diag::BadDeviceCosts, text, why));
  };
  DeviceCosts costs;
  std::string_view rest = text;
  const auto next = [&] {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    return item;
  };
  const std::string_view name = next();
  const auto device = runtime::parse_device(name);
  if (!device) return refused(fmt::format("`{}` is not a device", name));
  costs.device = *device;
  if (rest.empty()) return refused("it states no costs");
  if (rest.back() == ',') return refused("a cost is missing after the last comma");
  while (!rest.empty())
    if (const std::string why = read_cost(next(), costs); !why.empty()) return refused(why);
  return costs;
}

}  // namespace

ir::Result<std::vector<DeviceCosts>> parse_device_costs(const std::vector<std::string>& texts) {
  std::vector<DeviceCosts> all;
  for (const std::string& text : texts) {
    RLDB_TRY(const DeviceCosts costs, costs_of(text));
    for (const DeviceCosts& d : all)
      if (d.device == costs.device)
        return support::Failure(source::message(diag::BadDeviceCosts, text, "the device is given twice"));
    all.push_back(costs);
  }
  return all;
}

// Kernels and the host ask for the copies, and the last one is of the result: they belong to the run, not to a binding.
SimulatedTime simulated_copies(const Profile& profile) {
  SimulatedTime t;
  for (const DeviceCosts& d : profile.devices)
    for (const runtime::DeviceUse& use : profile.traffic) {
      const auto& engines = profile.kernel_devices;
      if (!(use.device == d.device) || std::find(engines.begin(), engines.end(), d.device) == engines.end()) continue;
      if (d.link > 0) t.link += 1e9 * double(use.bytes_in + use.bytes_out) / d.link;
      t.latency += d.latency_ns * double(use.copies_in + use.copies_out);
    }
  return t;
}

SimulatedTime simulated_time(const Profile& profile) {
  SimulatedTime t = simulated_copies(profile);
  for (const ProfileRow& row : profile.callees) t.add(row.counts.simulated);
  return t;
}

}  // namespace rldb::debug
