// A program compiled for the device. Room-private.
#pragma once

#include <vector>

#include "codegen/opencl/api/device.h"
#include "codegen/opencl/emit/program.h"

namespace rldb::codegen {

class ClProgram {
 public:
  static ir::Result<std::unique_ptr<ClProgram>> build(const ClDevice& device, const Program& program,
                                                      std::string_view name, bool strict);
  ~ClProgram();
  ClProgram(const ClProgram&) = delete;
  ClProgram& operator=(const ClProgram&) = delete;
  cl::KernelId kernel(std::size_t launch) const { return kernels_[launch]; }

 private:
  explicit ClProgram(const ClDevice& device) : device_(device) {}
  const ClDevice& device_;
  cl::ProgramId id_ = nullptr;
  std::vector<cl::KernelId> kernels_;  // by launch
};

}  // namespace rldb::codegen
