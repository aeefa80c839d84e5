// The device that runs kernels: the first one of the first platform that has any. Room-private.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/opencl/api/loader.h"
#include "rldb/codegen/opencl/opencl.h"

namespace rldb::codegen {

struct ClDevice {
  const cl::Api* api = nullptr;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;  // commands run in order
  OpenClDevice about;
  std::vector<std::size_t> item_sizes;  // the most threads of a block in each dimension
  bool exact_division = false;          // -cl-fp32-correctly-rounded-divide-sqrt is supported
};

// Opened once; lives as long as the process.
ir::Result<const ClDevice*> cl_device();

}  // namespace rldb::codegen
