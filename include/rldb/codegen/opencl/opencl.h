// TensorIR scheduled for a GPU -> OpenCL C, compiled and run by the OpenCL of this machine.
//
// The loader library (libOpenCL.so.1) is opened when it is first needed; nothing is linked. A PrimFunc is lowered by
// the passes for GPUs (blocks, cross-thread reductions, barriers), and each of its launches becomes one kernel
// function; what is around the launches (loops, conditions, memory) is done by the host. A PrimFunc that has no
// threads, or uses what OpenCL C does not have, is a Message, and nothing runs. The host's part is
// codegen/gpu's. User: session.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/codegen/gpu/options.h"
#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

// A device of a platform, as the platform describes it.
struct OpenClDevice {
  std::string platform;  // "Portable Computing Language"
  std::string name;
  std::string version;  // "OpenCL 3.0 ..."
  std::uint64_t memory = 0, local_memory = 0, group_size = 0;
  bool float64 = false;  // cl_khr_fp64
};

// All devices, in the platforms' order; the first one runs kernels. The Message says why there is none.
ir::Result<std::vector<OpenClDevice>> opencl_devices();

// The text that is compiled for the first device: all kernel functions of `f`, in the order of their launches.
ir::Result<std::string> opencl_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                      const GpuOptions& options);
// A kernel of the table. The text is generated and checked here; the device compiles it at the first run.
ir::Result<std::shared_ptr<runtime::Kernel>> opencl_kernel(ir::Context& ctx, const ir::PrimFunc* f,
                                                           std::string_view name, const GpuOptions& options);

}  // namespace rldb::codegen
