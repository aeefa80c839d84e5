// Names of devices, and the account of their memory and traffic.
#include "rldb/runtime/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "rldb/runtime/device_error.h"

namespace rldb::runtime {

namespace {

constexpr DeviceKind kDeviceKinds[] = {
#define RLDB_DEVICE_KIND(...) {__VA_ARGS__},
#define RLDB_TARGET_KIND(...) {__VA_ARGS__},
#include "rldb/runtime/device_kind.def"
};

// Kernels of a parallel JIT may allocate from threads.
std::mutex g_device_mutex;
using DeviceKey = std::pair<std::int32_t, std::int32_t>;
std::map<DeviceKey, DeviceUse>& device_table() {
  static std::map<DeviceKey, DeviceUse> table;
  return table;
}

DeviceUse& use_of(Device device) {
  DeviceUse& use = device_table()[{device.type, device.id}];
  use.device = device;
  return use;
}

}  // namespace

std::string to_string(Device device) {
  std::string_view name;
  for (const DeviceKind& d : kDeviceKinds) {
    if (d.type != device.type) continue;
    name = d.name;
    break;
  }
  if (device.is_host()) return std::string(kHostDevice);
  return name.empty() ? fmt::format("device({}):{}", device.type, device.id) : fmt::format("{}:{}", name, device.id);
}

const DeviceKind* find_device_kind(std::string_view name) {
  for (const DeviceKind& d : kDeviceKinds)
    if (d.name == name) return &d;
  return nullptr;
}

std::int32_t device_type_of(std::string_view kind) {
  const DeviceKind* row = find_device_kind(kind);
  return row ? row->type : 1;
}

std::optional<Device> parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const DeviceKind* known = find_device_kind(kind);
  if (!known) return std::nullopt;
  Device device{known->type, 0};
  if (colon == std::string_view::npos) return device;
  const std::string_view number = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device.id);
  if (error != std::errc() || end != number.data() + number.size() || device.id < 0) return std::nullopt;
  return device;
}

std::optional<std::vector<Device>> parse_devices(std::string_view text) {
  std::vector<Device> devices;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto device = parse_device(text.substr(0, comma));
    if (!device) return std::nullopt;
    devices.push_back(*device);
    if (comma == std::string_view::npos) return devices;
    text.remove_prefix(comma + 1);
  }
}

std::string to_string(const std::vector<Device>& devices) {
  std::string out;
  for (const Device& d : devices) out += (out.empty() ? "" : ",") + to_string(d);
  return out;
}

std::vector<DeviceUse> device_uses() {
  const std::lock_guard lock(g_device_mutex);
  std::vector<DeviceUse> uses;
  for (const auto& [key, use] : device_table()) uses.push_back(use);
  return uses;
}

void reset_device_traffic() {
  const std::lock_guard lock(g_device_mutex);
  auto& table = device_table();
  for (auto it = table.begin(); it != table.end();) {
    DeviceUse& use = it->second;
    use.peak = use.bytes;
    use.copies_in = use.bytes_in = use.copies_out = use.bytes_out = 0;
    use.ns_in = use.ns_out = 0;
    it = use.storages == 0 ? table.erase(it) : std::next(it);
  }
}

void note_device_storage(Device device, std::size_t bytes, bool freed) {
  const std::lock_guard lock(g_device_mutex);
  DeviceUse& use = use_of(device);
  if (freed) {
    use.bytes -= bytes;
    --use.storages;
  } else {
    use.bytes += bytes;
    ++use.storages;
    use.peak = std::max(use.peak, use.bytes);
  }
}

void note_device_copy(Device from, Device to, std::size_t bytes, std::uint64_t nanoseconds) {
  const std::lock_guard lock(g_device_mutex);
  if (!to.is_host()) {
    DeviceUse& use = use_of(to);
    ++use.copies_in;
    use.bytes_in += bytes;
    use.ns_in += nanoseconds;
  }
  if (!from.is_host()) {
    DeviceUse& use = use_of(from);
    ++use.copies_out;
    use.bytes_out += bytes;
    use.ns_out += nanoseconds;
  }
}

namespace {

std::optional<Error> g_device_error;

}  // namespace

void note_device_error(Error error) {
  const std::lock_guard lock(g_device_mutex);
  if (!g_device_error) g_device_error = std::move(error);
}

std::optional<Error> take_device_error() {
  const std::lock_guard lock(g_device_mutex);
  return std::exchange(g_device_error, std::nullopt);
}

Result<support::Unit> read_back(const Storage& storage) {
  const DeviceCopy* copy = storage.device_copy();
  if (!copy || copy->current() != DeviceCopy::Current::Device) return support::Unit{};
  auto earlier = take_device_error();
  (void)storage.peek();
  auto error = take_device_error();
  if (earlier) note_device_error(*std::move(earlier));
  if (error) return support::Failure(*std::move(error));
  if (copy->current() != DeviceCopy::Current::Device) return support::Unit{};
  return fail(ErrorKind::Raised, "its bytes have not come from the device");
}

namespace {

Result<support::Unit> read_back_fields(const Value& v, int depth) {
  constexpr int kMaxDepth = 64;
  if (v.is(ValueKind::Tensor)) return read_back(*v.as_tensor().storage());
  if (v.is(ValueKind::Storage)) return read_back(*v.storage_ref());
  if (v.is(ValueKind::Tuple) && depth < kMaxDepth)
    for (const Value& field : v.as_tuple().fields) RLDB_TRY_VOID(read_back_fields(field, depth + 1));
  return support::Unit{};
}

}  // namespace

Result<support::Unit> read_back(const Value& v) { return read_back_fields(v, 0); }

}  // namespace rldb::runtime
