// The door: from a PrimFunc to PTX, and to a kernel of the table.
#include "rldb/codegen/gpu/kernel.h"

#include <fmt/format.h>

#include <utility>

#include "codegen/nvptx/api/device.h"
#include "codegen/nvptx/outline.h"
#include "rldb/codegen/gpu/lowered.h"
#include "rldb/eval/eval.h"
#include "rldb/source/diagnostic_nvptx.h"

namespace rldb::codegen {

namespace {

support::Failure<source::Message> unsupported(std::string_view name, std::string_view why) {
  return support::Failure(source::message(diag::CudaUnsupported, name, why));
}

ir::Result<Program> emit(ir::Context& ctx, const ir::PrimFunc* lowered, std::string_view name,
                         const GpuOptions& options, runtime::NumericEvents events) {
  RLDB_TRY(Outlined outlined, outline(ctx, lowered, name));
  auto made = make_ptx(ctx, outlined.launches, {options.check_bounds, options.fast_math, events});
  if (!made.ok()) return unsupported(name, made.error().text);
  Program program = std::move(outlined.program);
  program.text = std::move(made->text);
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    program.launches[i].shared_bytes = made->functions[i].shared_bytes;
    program.launches[i].private_bytes = made->functions[i].private_bytes;
  }
  for (PtxFault& f : made->faults) program.sites.push_back({f.kind, std::move(f.text), std::move(f.note), true});
  return program;
}

ir::Result<const ir::PrimFunc*> lowered(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name) {
  auto made = lowered_for_gpu(ctx, f, name);
  if (!made.ok()) return unsupported(name, made.error().text);
  return *made;
}

}  // namespace

ir::Result<std::string> ptx_text(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                 const GpuOptions& options) {
  RLDB_TRY(const ir::PrimFunc* const low, lowered(ctx, f, name));
  RLDB_TRY(Program program, emit(ctx, low, name, options, 0));
  return std::move(program.text);
}

ir::Result<std::shared_ptr<runtime::Kernel>> cuda_kernel(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                                         const GpuOptions& options) {
  RLDB_TRY(runtime::KernelSignature signature, eval::signature_of(f, name));
  if (!signature.result.is_void()) return unsupported(name, "it returns a value");
  RLDB_TRY(const ir::PrimFunc* const low, lowered(ctx, f, name));
  RLDB_TRY(Program program, emit(ctx, low, name, options, 0));
  RLDB_TRY(CuDevice* const device, CuDevice::first());
  if (const std::string why = device_lacks(*device, program); !why.empty()) return unsupported(name, why);
  auto again = [&ctx, low, kernel = std::string(name), options](runtime::NumericEvents events) {
    return emit(ctx, low, kernel, options, events);
  };
  return gpu_kernel(*device, std::move(program), std::move(signature), options, std::move(again));
}

}  // namespace rldb::codegen
