// A PrimFunc run by a device, as a kernel of the table: the host's part of its calls.
//
// Tensors are copied to the device before a call, and back after it; a call that fails leaves the host's tensors as
// they were.
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
