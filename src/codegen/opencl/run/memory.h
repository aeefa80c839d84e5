// Memory of the device during one call, counted by the account of runtime/device.h. Room-private.
#pragma once

#include <memory>
#include <vector>

#include "codegen/opencl/api/device.h"
#include "rldb/runtime/device.h"
#include "rldb/runtime/error.h"

namespace rldb::codegen {

inline constexpr runtime::Device kOpenClDevice{4, 0};  // DLPack's number

class ClMemory {
 public:
  static runtime::Result<std::unique_ptr<ClMemory>> allocate(const ClDevice& device, std::size_t bytes);
  ~ClMemory();
  ClMemory(const ClMemory&) = delete;
  ClMemory& operator=(const ClMemory&) = delete;

  cl::MemoryId id() const { return id_; }
  std::size_t size() const { return size_; }
  // Blocking; `counted`: as traffic between the host and the device.
  runtime::Result<support::Unit> write(const void* from, std::size_t bytes, bool counted = true);
  runtime::Result<support::Unit> read(void* to, std::size_t bytes, bool counted = true) const;
  runtime::Result<support::Unit> clear();

 private:
  ClMemory(const ClDevice& device, cl::MemoryId id, std::size_t size) : device_(device), id_(id), size_(size) {}
  const ClDevice& device_;
  cl::MemoryId id_;
  std::size_t size_;
};

runtime::Error cl_error(std::string_view doing, cl::Int code);

}  // namespace rldb::codegen
