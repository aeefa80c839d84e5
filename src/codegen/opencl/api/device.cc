// Platforms and devices.
#include "codegen/opencl/api/device.h"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace

// Empty: all is there.
std::string ClDevice::make_queues() {
  cl::Int error = cl::kSuccess;
  context_ = cl_->clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &error);
  if (error == cl::kSuccess) queue_ = cl_->clCreateCommandQueue(context_, id_, 0, &error);
  if (error == cl::kSuccess) side_queue_ = cl_->clCreateCommandQueue(context_, id_, 0, &error);
  if (error != cl::kSuccess) return cl::error_name(error);
  const bool shares = cl_->clSVMAlloc && cl_->clSetKernelArgSVMPointer &&
                      (number_of<cl::Bits>(*cl_, id_, cl::kSharedMemory) & cl::kSharedBuffers) != 0;
  if (shares)
    shared_stop_ = static_cast<std::uint32_t*>(
        cl_->clSVMAlloc(context_, cl::kReadWrite | cl::kSharedAtAllTimes, sizeof *shared_stop_, 0));
  if (!shared_stop_) stop_ = cl_->clCreateBuffer(context_, cl::kReadWrite, sizeof *shared_stop_, nullptr, &error);
  ask_to_stop(false);
  return error == cl::kSuccess ? "" : cl::error_name(error);
}

ir::Result<ClDevice*> ClDevice::open() {
  std::string why;
  const Api* api = cl::api(why);
  if (!api) return no_opencl(why);
  for (const cl::PlatformId platform : platforms_of(*api)) {
    const std::vector<cl::DeviceId> devices = devices_of(*api, platform);
    if (devices.empty()) continue;
    auto opened = std::make_unique<ClDevice>();
    const OpenClDevice about = described(*api, platform, devices[0]);
    opened->cl_ = api;
    opened->id_ = devices[0];
    opened->api = "OpenCL";
    opened->number = {4, 0};  // DLPack's number
    opened->name = about.name;
    opened->block_threads = about.group_size;
    opened->shared_bytes = about.local_memory;
    opened->memory_bytes = about.memory;
    opened->float64 = about.float64;
    opened->is_cpu = (number_of<cl::Bits>(*api, devices[0], cl::kDeviceType) & cl::kCpu) != 0;
    opened->part_alignment = std::max<std::size_t>(1, number_of<cl::Uint>(*api, devices[0], cl::kAlignmentBits) / 8);
    opened->exact_division_ =
        (number_of<cl::Bits>(*api, devices[0], cl::kSingleFloats) & cl::kCorrectlyRoundedDivision) != 0;
    if (const std::string error = opened->make_queues(); !error.empty())
      return no_opencl(fmt::format("`{}` of {}: {}", about.name, about.platform, error));
    return opened.release();
  }
  return no_opencl("no platform has a device");
}

ir::Result<ClDevice*> ClDevice::first() {
  static const ir::Result<ClDevice*> first = open();
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
