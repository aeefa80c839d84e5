// Copies of storages that stay on a device between two kernels. Room-private.
//
// DeviceCopy::current says where the bytes are. Of the copies that no call uses, those that were not used for longest
// are given up when the device has no memory left: what only they have is copied to the host. Calls are made one at a
// time; tensors are read and dropped, and the host asks for memory, on any thread (memory.h: `account_mutex`).
#pragma once

#include <list>
#include <memory>

#include "codegen/gpu/memory.h"
#include "rldb/runtime/clear.h"

namespace rldb::codegen {

class ResidentCopy final : public runtime::ClearableCopy {
 public:
  // The one that the storage has on this device, or a new one. A copy on another device is fetched and given up.
  static support::Ref<ResidentCopy> of(GpuDevice& device, const runtime::Storage& storage);
  ~ResidentCopy() override;

  runtime::Device device() const override { return device_.number; }
  bool fetch() override;
  bool clear(std::size_t at, std::size_t bytes) override;

  // Its memory, as large as the storage; without contents if it is new.
  runtime::Result<GpuMemory*> memory();
  // The bytes of the host, if only the host has them; zeros if nobody has used the storage.
  runtime::Result<support::Unit> update(bool is_untouched);
  // Gives up the memory of one that no call uses, on a device, or on any that is a CPU; false: there is none.
  static bool give_up_one(const GpuDevice* device);

  // A call uses it: its memory is not given up.
  void use();
  void unuse();

 private:
  ResidentCopy(GpuDevice& device, std::byte* host, std::size_t bytes);
  GpuDevice& device_;
  std::byte* host_;
  std::size_t bytes_;
  int uses_ = 0;  // calls that use it now
  std::unique_ptr<GpuMemory> memory_;
  std::list<ResidentCopy*>::iterator place_;  // in the list of all, by their last use
};

// A range of memory, as an argument.
class GpuPart {
 public:
  GpuPart(GpuDevice& device, GpuAddress address) : device_(device), address_(address) {}
  ~GpuPart() { device_.release_part(address_); }
  GpuPart(const GpuPart&) = delete;
  GpuPart& operator=(const GpuPart&) = delete;
  GpuAddress address() const { return address_; }

 private:
  GpuDevice& device_;
  GpuAddress address_;
};

}  // namespace rldb::codegen
