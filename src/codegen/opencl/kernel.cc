// The door: from a PrimFunc to OpenCL C, and to a kernel of the table.
#include "rldb/codegen/gpu/kernel.h"

#include <fmt/format.h>

#include "codegen/opencl/api/device.h"
#include "codegen/opencl/emit/emit.h"
#include "rldb/codegen/gpu/lowered.h"
#include "rldb/codegen/opencl/opencl.h"
#include "rldb/eval/eval.h"
#include "rldb/source/diagnostic_opencl.h"

namespace rldb::codegen {

namespace {

EmitOptions emit_options(std::string_view name, const GpuOptions& options) {
  EmitOptions o;
  o.name = name;
  o.check_bounds = options.check_bounds;
  o.strict = !options.fast_math;
  return o;
}

support::Failure<source::Message> unsupported(std::string_view name, std::string_view why) {
  return support::Failure(source::message(diag::OpenClUnsupported, name, why));
}

ir::Result<Program> program_of(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                               const GpuOptions& options) {
  auto lowered = lowered_for_gpu(ctx, f, name);
  if (!lowered.ok()) return unsupported(name, lowered.error().text);
  return emit_program(ctx, *lowered, emit_options(name, options));
}

}  // namespace

ir::Result<std::string> opencl_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                      const GpuOptions& options) {
  RLDB_TRY(Program program, program_of(ctx, f, name, options));
  return std::move(program.text);
}

ir::Result<std::shared_ptr<runtime::Kernel>> opencl_kernel(ir::Context& ctx, const ir::PrimFunc* f,
                                                           std::string_view name, const GpuOptions& options) {
  RLDB_TRY(runtime::KernelSignature signature, eval::signature_of(f, name));
  if (!signature.result.is_void()) return unsupported(name, "it returns a value");
  RLDB_TRY(Program program, program_of(ctx, f, name, options));
  RLDB_TRY(ClDevice* const device, ClDevice::first());
  if (const std::string why = device_lacks(*device, program); !why.empty()) return unsupported(name, why);
  auto emit = [&ctx, lowered = program.f, kernel = std::string(name), options](runtime::NumericEvents events) {
    EmitOptions wanted = emit_options(kernel, options);
    wanted.events = events;
    return emit_program(ctx, lowered, wanted);
  };
  return gpu_kernel(*device, std::move(program), std::move(signature), options, std::move(emit));
}

}  // namespace rldb::codegen
