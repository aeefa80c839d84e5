// Memory of the device.
#include <fmt/format.h>

#include "codegen/opencl/api/device.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

namespace {

cl::MemoryId memory_at(GpuAddress address) { return reinterpret_cast<cl::MemoryId>(address); }
GpuAddress address_of(cl::MemoryId memory) { return reinterpret_cast<GpuAddress>(memory); }

Result<Unit> checked(std::string_view doing, cl::Int code) {
  if (code != cl::kSuccess) return support::Failure(cl_error(doing, code));
  return Unit{};
}

}  // namespace

runtime::Error cl_error(std::string_view doing, cl::Int code) {
  constexpr cl::Int kNoMemory = -4, kNoHostMemory = -6, kBufferTooLarge = -61;
  const bool memory = code == kNoMemory || code == kNoHostMemory || code == kBufferTooLarge;
  return {memory ? runtime::ErrorKind::OutOfMemory : runtime::ErrorKind::Raised,
          fmt::format("OpenCL cannot {}: {}", doing, cl::error_name(code)),
          {}};
}

Result<GpuAddress> ClDevice::allocate(std::size_t bytes) {
  cl::Int error = cl::kSuccess;
  cl::MemoryId id = cl_->clCreateBuffer(context_, cl::kReadWrite, bytes, nullptr, &error);
  if (error != cl::kSuccess) return support::Failure(cl_error("allocate memory", error));
  return address_of(id);
}

void ClDevice::release(GpuAddress memory) { cl_->clReleaseMemObject(memory_at(memory)); }

Result<GpuAddress> ClDevice::part(GpuAddress memory, std::size_t at, std::size_t bytes) {
  cl::Int error = cl::kSuccess;
  const cl::Region region{at, bytes};
  cl::MemoryId id = cl_->clCreateSubBuffer(memory_at(memory), cl::kReadWrite, cl::kRegion, &region, &error);
  if (error != cl::kSuccess) return support::Failure(cl_error("make a part of memory", error));
  return address_of(id);
}

Result<Unit> ClDevice::write(GpuAddress to, const void* from, std::size_t bytes) {
  return checked("copy to the device",
                 cl_->clEnqueueWriteBuffer(queue_, memory_at(to), cl::kBlocking, 0, bytes, from, 0, nullptr, nullptr));
}

Result<Unit> ClDevice::read(GpuAddress from, void* to, std::size_t bytes) {
  return checked("copy from the device",
                 cl_->clEnqueueReadBuffer(queue_, memory_at(from), cl::kBlocking, 0, bytes, to, 0, nullptr, nullptr));
}

Result<Unit> ClDevice::copy(GpuAddress from, std::size_t from_at, GpuAddress to, std::size_t to_at, std::size_t bytes) {
  if (bytes == 0) return Unit{};
  return checked("copy memory", cl_->clEnqueueCopyBuffer(queue_, memory_at(from), memory_at(to), from_at, to_at, bytes,
                                                         0, nullptr, nullptr));
}

Result<Unit> ClDevice::clear(GpuAddress memory, std::size_t at, std::size_t bytes) {
  const std::uint8_t zero = 0;
  return checked("clear memory",
                 cl_->clEnqueueFillBuffer(queue_, memory_at(memory), &zero, 1, at, bytes, 0, nullptr, nullptr));
}

}  // namespace rldb::codegen
