#include "codegen/gpu/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "codegen/gpu/residence.h"
#include "rldb/support/memory.h"
#include "rldb/support/text.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

std::recursive_mutex& account_mutex() {
  static auto* mutex = new std::recursive_mutex();  // tensors are dropped until the process ends
  return *mutex;
}

namespace {

// The memory of a CPU counts as the process's.
bool reserve(GpuDevice& device, std::size_t bytes) {
  const std::lock_guard lock(account_mutex());
  const std::size_t most = std::min(device.memory_bytes, runtime::memory_limit());
  if (bytes > most || device.allocated > most - bytes) return false;
  if (device.is_cpu && !support::reserve_memory(bytes)) return false;
  device.allocated += bytes;
  return true;
}

void unreserve(GpuDevice& device, std::size_t bytes) {
  const std::lock_guard lock(account_mutex());
  device.allocated -= bytes;
  if (device.is_cpu) support::release_memory(bytes);
}

Result<GpuAddress> address_for(GpuDevice& device, std::size_t bytes) {
  while (!reserve(device, bytes))
    if (!ResidentCopy::give_up_one(&device))
      return runtime::fail(runtime::ErrorKind::OutOfMemory,
                           fmt::format("{} has no memory left, {} are in use: it has {}, and the limit is {} "
                                       "(`--max-memory`)",
                                       device.name, support::counted(device.allocated, "byte"),
                                       support::counted(device.memory_bytes, "byte"),
                                       support::counted(runtime::memory_limit(), "byte")));
  auto address = device.allocate(bytes);
  while (!address.ok() && ResidentCopy::give_up_one(&device)) address = device.allocate(bytes);
  if (!address.ok()) unreserve(device, bytes);
  return address;
}

// Runs a copy, and returns how long it took.
template <class F>
Result<std::uint64_t> timed(F copy) {
  const auto begin = std::chrono::steady_clock::now();
  RLDB_TRY_VOID(copy());
  return std::uint64_t(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace

Result<std::unique_ptr<GpuMemory>> GpuMemory::allocate(GpuDevice& device, std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);  // no memory is smaller
  auto address = address_for(device, size);
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
  unreserve(device_, size_);
}

Result<Unit> GpuMemory::write(const void* from, std::size_t bytes, bool counted) {
  if (bytes == 0) return Unit{};
  RLDB_TRY(const std::uint64_t time, timed([&] { return device_.write(address_, from, bytes); }));
  if (counted) runtime::note_device_copy({}, device_.number, bytes, time);
  return Unit{};
}

Result<Unit> GpuMemory::read(void* to, std::size_t bytes, bool counted) const {
  if (bytes == 0) return Unit{};
  RLDB_TRY(const std::uint64_t time, timed([&] { return device_.read(address_, to, bytes); }));
  if (counted) runtime::note_device_copy(device_.number, {}, bytes, time);
  return Unit{};
}

Result<Unit> GpuMemory::clear(std::size_t at, std::size_t bytes) { return device_.clear(address_, at, bytes); }

}  // namespace rldb::codegen
