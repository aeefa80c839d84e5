#include "codegen/opencl/run/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/text.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

runtime::Error cl_error(std::string_view doing, cl::Int code) {
  constexpr cl::Int kNoMemory = -4, kNoHostMemory = -6, kBufferTooLarge = -61;
  const bool memory = code == kNoMemory || code == kNoHostMemory || code == kBufferTooLarge;
  return {memory ? runtime::ErrorKind::OutOfMemory : runtime::ErrorKind::Raised,
          fmt::format("OpenCL cannot {}: {}", doing, cl::error_name(code)),
          {}};
}

Result<std::unique_ptr<ClMemory>> ClMemory::allocate(const ClDevice& device, std::size_t bytes) {
  cl::Int error = cl::kSuccess;
  const std::size_t size = std::max<std::size_t>(bytes, 1);  // no memory is smaller
  cl::MemoryId id = device.api->clCreateBuffer(device.context, cl::kReadWrite, size, nullptr, &error);
  if (error != cl::kSuccess)
    return support::Failure(
        cl_error(fmt::format("allocate {} on {}", support::counted(bytes, "byte"), device.about.name), error));
  runtime::note_device_storage(kOpenClDevice, size, false);
  return std::unique_ptr<ClMemory>(new ClMemory(device, id, size));
}

ClMemory::~ClMemory() {
  runtime::note_device_storage(kOpenClDevice, size_, true);
  device_.api->clReleaseMemObject(id_);
}

Result<Unit> ClMemory::write(const void* from, std::size_t bytes, bool counted) {
  if (bytes == 0) return Unit{};
  const cl::Int code =
      device_.api->clEnqueueWriteBuffer(device_.queue, id_, cl::kBlocking, 0, bytes, from, 0, nullptr, nullptr);
  if (code != cl::kSuccess) return support::Failure(cl_error("copy to the device", code));
  if (counted) runtime::note_device_copy({}, kOpenClDevice, bytes);
  return Unit{};
}

Result<Unit> ClMemory::read(void* to, std::size_t bytes, bool counted) const {
  if (bytes == 0) return Unit{};
  const cl::Int code =
      device_.api->clEnqueueReadBuffer(device_.queue, id_, cl::kBlocking, 0, bytes, to, 0, nullptr, nullptr);
  if (code != cl::kSuccess) return support::Failure(cl_error("copy from the device", code));
  if (counted) runtime::note_device_copy(kOpenClDevice, {}, bytes);
  return Unit{};
}

Result<Unit> ClMemory::clear() {
  const std::uint8_t zero = 0;
  const cl::Int code = device_.api->clEnqueueFillBuffer(device_.queue, id_, &zero, 1, 0, size_, 0, nullptr, nullptr);
  if (code != cl::kSuccess) return support::Failure(cl_error("clear memory", code));
  return Unit{};
}

}  // namespace rldb::codegen
