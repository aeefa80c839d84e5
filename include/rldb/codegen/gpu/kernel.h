// A PrimFunc run by a device, as a kernel of the table: the host's part of its calls.
//
// Tensors stay on the device between two calls: a storage has a copy there (runtime::DeviceCopy) that is made when a
// kernel first reads it, and is good until the host takes the storage's memory; what a kernel has written comes back
// when the host asks for it. A call that has a fault leaves what it would have changed as it was.
#pragma once

#include <functional>
#include <memory>

#include "rldb/codegen/gpu/device.h"
#include "rldb/codegen/gpu/options.h"
#include "rldb/codegen/gpu/program.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// Writes the code, with tests for these numbers among those that are written to parameters.
using GpuEmit = std::function<ir::Result<Program>(runtime::NumericEvents events)>;

// Why the device cannot run it; empty: as far as is known before the call, it can.
std::string device_lacks(const GpuDevice& device, const Program& program);

std::shared_ptr<runtime::Kernel> gpu_kernel(GpuDevice& device, Program program, runtime::KernelSignature signature,
                                            const GpuOptions& options, GpuEmit emit);

}  // namespace rldb::codegen
