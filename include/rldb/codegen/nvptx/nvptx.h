// TensorIR scheduled for a GPU -> LLVM IR -> PTX by LLVM's NVPTX back end, run by the CUDA driver of this machine.
//
// The driver (libcuda.so.1) is opened when it is first needed; nothing is linked, no header of CUDA is needed. The text
// needs no driver. A PrimFunc that has no threads, or uses what is not supported, is a Message, and nothing runs. The
// host's part is codegen/gpu's; expressions and statements are lowered by codegen/llvm. User: session.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/codegen/gpu/options.h"
#include "rldb/ir/context.h"
#include "rldb/runtime/kernel.h"

namespace rldb::codegen {

struct CudaDevice {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  std::uint64_t memory = 0, shared_memory = 0, block_size = 0;
};

// All devices; the first one runs kernels. The Message says why there is none.
ir::Result<std::vector<CudaDevice>> cuda_devices();

// All kernel functions of `f`, in the order of their launches, for compute capability 7.0: drivers compile that for
// later devices too.
ir::Result<std::string> ptx_text(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                 const GpuOptions& options);
// A kernel of the table. The text is generated and checked here; the driver compiles it at the first run.
ir::Result<std::shared_ptr<runtime::Kernel>> cuda_kernel(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                                         const GpuOptions& options);

}  // namespace rldb::codegen
