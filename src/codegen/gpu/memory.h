// Memory of a device, counted by the account of runtime/device.h. Room-private.
#pragma once

#include <memory>
#include <mutex>

#include "rldb/codegen/gpu/device.h"

namespace rldb::codegen {

// Of the account of all devices' memory, and of the list of copies (residence.h); taken again by who has it.
std::recursive_mutex& account_mutex();

class GpuMemory {
 public:
  // No more than the device has, and the limit on memory allows; memory that is kept for later is given up for it.
  static runtime::Result<std::unique_ptr<GpuMemory>> allocate(GpuDevice& device, std::size_t bytes);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  GpuAddress address() const { return address_; }
  std::size_t size() const { return size_; }
  // `counted`: as traffic between the host and the device.
  runtime::Result<support::Unit> write(const void* from, std::size_t bytes, bool counted = true);
  runtime::Result<support::Unit> read(void* to, std::size_t bytes, bool counted = true) const;
  runtime::Result<support::Unit> clear() { return clear(0, size_); }
  runtime::Result<support::Unit> clear(std::size_t at, std::size_t bytes);

 private:
  GpuMemory(GpuDevice& device, GpuAddress address, std::size_t size)
      : device_(device), address_(address), size_(size) {}
  GpuDevice& device_;
  GpuAddress address_;
  std::size_t size_;
};

}  // namespace rldb::codegen
