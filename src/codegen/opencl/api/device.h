// The device that runs kernels: the first one of the first platform that has any. Room-private.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/opencl/api/loader.h"
#include "rldb/codegen/opencl/opencl.h"

namespace rldb::codegen {

struct ClDevice {
  const cl::Api* api = nullptr;
  cl::DeviceId id = nullptr;
  cl::ContextId context = nullptr;
  cl::QueueId queue = nullptr;  // commands run in order
  OpenClDevice about;
  bool is_cpu = false;          // the arrays of all threads of a block are on one stack
  bool exact_division = false;  // -cl-fp32-correctly-rounded-divide-sqrt is supported
  // The last launch, if ^C ended the wait for it: commands after it start when it has ended.
  mutable cl::EventId abandoned = nullptr;
};

// Opened once; lives as long as the process.
ir::Result<const ClDevice*> cl_device();

}  // namespace rldb::codegen
