// Platforms and devices.
#include "codegen/opencl/api/device.h"

#include <fmt/format.h>

#include <memory>

#include "rldb/source/diagnostic_opencl.h"

namespace rldb::codegen {

namespace {

using cl::Api;

support::Failure<source::Message> no_opencl(const std::string& why) {
  return support::Failure(source::message(diag::OpenClAbsent, why));
}

std::string text_of(const Api& api, cl::PlatformId platform, cl::Uint what) {
  std::size_t size = 0;
  if (api.clGetPlatformInfo(platform, what, 0, nullptr, &size) != cl::kSuccess || size == 0) return {};
  std::string text(size, '\0');
  api.clGetPlatformInfo(platform, what, size, text.data(), nullptr);
  return text.c_str();
}

std::string text_of(const Api& api, cl::DeviceId device, cl::Uint what) {
  std::size_t size = 0;
  if (api.clGetDeviceInfo(device, what, 0, nullptr, &size) != cl::kSuccess || size == 0) return {};
  std::string text(size, '\0');
  api.clGetDeviceInfo(device, what, size, text.data(), nullptr);
  return text.c_str();
}

template <class T>
T number_of(const Api& api, cl::DeviceId device, cl::Uint what) {
  T value{};
  api.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::vector<cl::PlatformId> platforms_of(const Api& api) {
  cl::Uint count = 0;
  if (api.clGetPlatformIDs(0, nullptr, &count) != cl::kSuccess || count == 0) return {};
  std::vector<cl::PlatformId> platforms(count);
  api.clGetPlatformIDs(count, platforms.data(), nullptr);
  return platforms;
}

std::vector<cl::DeviceId> devices_of(const Api& api, cl::PlatformId platform) {
  cl::Uint count = 0;
  if (api.clGetDeviceIDs(platform, cl::kAllDevices, 0, nullptr, &count) != cl::kSuccess || count == 0) return {};
  std::vector<cl::DeviceId> devices(count);
  api.clGetDeviceIDs(platform, cl::kAllDevices, count, devices.data(), nullptr);
  return devices;
}

OpenClDevice described(const Api& api, cl::PlatformId platform, cl::DeviceId device) {
  OpenClDevice d;
  d.platform = text_of(api, platform, cl::kPlatformName);
  d.name = text_of(api, device, cl::kDeviceName);
  d.version = text_of(api, device, cl::kDeviceVersion);
  d.memory = number_of<std::uint64_t>(api, device, cl::kGlobalMemory);
  d.local_memory = number_of<std::uint64_t>(api, device, cl::kLocalMemory);
  d.group_size = number_of<std::size_t>(api, device, cl::kMaxGroupSize);
  d.float64 = text_of(api, device, cl::kDeviceExtensions).find("cl_khr_fp64") != std::string::npos;
  return d;
}

ir::Result<const ClDevice*> open_first() {
  std::string why;
  const Api* api = cl::api(why);
  if (!api) return no_opencl(why);
  for (const cl::PlatformId platform : platforms_of(*api)) {
    const std::vector<cl::DeviceId> devices = devices_of(*api, platform);
    if (devices.empty()) continue;
    auto opened = std::make_unique<ClDevice>();
    opened->api = api;
    opened->id = devices[0];
    opened->about = described(*api, platform, devices[0]);
    opened->is_cpu = (number_of<cl::Bits>(*api, opened->id, cl::kDeviceType) & cl::kCpu) != 0;
    opened->exact_division =
        (number_of<cl::Bits>(*api, opened->id, cl::kSingleFloats) & cl::kCorrectlyRoundedDivision) != 0;
    cl::Int error = cl::kSuccess;
    opened->context = api->clCreateContext(nullptr, 1, &opened->id, nullptr, nullptr, &error);
    if (error == cl::kSuccess) opened->queue = api->clCreateCommandQueue(opened->context, opened->id, 0, &error);
    if (error != cl::kSuccess)
      return no_opencl(
          fmt::format("`{}` of {}: {}", opened->about.name, opened->about.platform, cl::error_name(error)));
    return opened.release();
  }
  return no_opencl("no platform has a device");
}

}  // namespace

ir::Result<const ClDevice*> cl_device() {
  static const ir::Result<const ClDevice*> first = open_first();
  return first;
}

ir::Result<std::vector<OpenClDevice>> opencl_devices() {
  std::string why;
  const Api* api = cl::api(why);
  if (!api) return no_opencl(why);
  std::vector<OpenClDevice> all;
  for (const cl::PlatformId platform : platforms_of(*api))
    for (const cl::DeviceId device : devices_of(*api, platform)) all.push_back(described(*api, platform, device));
  if (all.empty()) return no_opencl("no platform has a device");
  return all;
}

}  // namespace rldb::codegen
