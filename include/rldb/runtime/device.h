// Device: where a storage is, by DLPack's numbers. The CPU is the host; every other device is simulated: it has an
// allocator of its own, tensors reach it by copies only, and host functions and kernels of another device refuse them.
//
// `DeviceUse` counts what was allocated and copied, for listings; it is of the process, reset at the start of a run.
// Used by value.h (every Storage has a device), vm (allocation, copies, checks), session (`--devices`), ui.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::runtime {

struct Device {
  std::int32_t type = 1;  // DLDeviceType; 1: CPU
  std::int32_t id = 0;
  // Numbers of CPUs are labels: there is one host memory.
  bool is_host() const { return type == 1; }
  friend bool operator==(const Device& a, const Device& b) { return a.type == b.type && (a.id == b.id || a.is_host()); }
};

// "cpu", "cuda:0", "sim:1" (DLPack's extension device).
std::string to_string(Device device);
// The same, and a target kind ("llvm") with an optional number; nullopt: no such kind, or a bad number.
std::optional<Device> parse_device(std::string_view text);

// "cpu,sim:0,sim:1"
std::optional<std::vector<Device>> parse_devices(std::string_view text);
std::string to_string(const std::vector<Device>& devices);

inline constexpr std::string_view kHostDevice = "cpu";
// A row of device_kind.def.
struct DeviceKind {
  std::string_view name;
  std::int32_t type;
  std::string_view device;
  std::int32_t warp, threads;
  bool is_gpu() const { return threads > 0; }
};
const DeviceKind* find_device_kind(std::string_view name);  // null: no such kind

// DLPack's number of a kind of target; 1 for those of the host, and for unknown ones.
std::int32_t device_type_of(std::string_view target_kind);

// The devices of a program, as its code numbers them. Without any, every device is the host.
using DeviceList = std::vector<Device>;
// Where tensors are that name no device: on the first one.
inline Device device_at(const DeviceList& devices, std::int64_t index) {
  return index >= 0 && std::size_t(index) < devices.size() ? devices[std::size_t(index)] : Device{};
}

// Memory and traffic of one device.
struct DeviceUse {
  Device device;
  std::size_t bytes = 0;  // in live storages
  std::size_t peak = 0;
  std::size_t storages = 0;
  // Copies by `to_vdevice`, DeviceCopy, inputs that were put there, and of tensors that an engine keeps on a device.
  std::size_t copies_in = 0, bytes_in = 0;
  std::size_t copies_out = 0, bytes_out = 0;
  std::uint64_t ns_in = 0, ns_out = 0;  // that the host waited for them
};
// Devices other than the host that were used, in the order of their numbers.
std::vector<DeviceUse> device_uses();
void reset_device_traffic();
void note_device_storage(Device device, std::size_t bytes, bool freed);
void note_device_copy(Device from, Device to, std::size_t bytes, std::uint64_t nanoseconds);

}  // namespace rldb::runtime
