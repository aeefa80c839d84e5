#include "codegen/gpu/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/text.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

Result<std::unique_ptr<GpuMemory>> GpuMemory::allocate(GpuDevice& device, std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);  // no memory is smaller
  auto address = device.allocate(size);
  if (!address.ok()) {
    runtime::Error error = std::move(address).error();
    error.notes.push_back(fmt::format("for {} on {}", support::counted(bytes, "byte"), device.name));
    return support::Failure(std::move(error));
  }
  runtime::note_device_storage(device.number, size, false);
  return std::unique_ptr<GpuMemory>(new GpuMemory(device, *address, size));
}

GpuMemory::~GpuMemory() {
  runtime::note_device_storage(device_.number, size_, true);
  device_.release(address_);
}

Result<Unit> GpuMemory::write(const void* from, std::size_t bytes, bool counted) {
  if (bytes == 0) return Unit{};
  RLDB_TRY_VOID(device_.write(address_, from, bytes));
  if (counted) runtime::note_device_copy({}, device_.number, bytes);
  return Unit{};
}

Result<Unit> GpuMemory::read(void* to, std::size_t bytes, bool counted) const {
  if (bytes == 0) return Unit{};
  RLDB_TRY_VOID(device_.read(address_, to, bytes));
  if (counted) runtime::note_device_copy(device_.number, {}, bytes);
  return Unit{};
}

Result<Unit> GpuMemory::clear() { return device_.clear(address_, size_); }

}  // namespace rldb::codegen
