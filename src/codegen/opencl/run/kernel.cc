// A PrimFunc run by OpenCL, as a kernel of the table.
#include <fmt/format.h>

#include "codegen/opencl/lower/lowered.h"
#include "codegen/opencl/run/call.h"
#include "rldb/codegen/opencl/opencl.h"
#include "rldb/eval/eval.h"
#include "rldb/ir/scalar.h"
#include "rldb/source/diagnostic_opencl.h"

namespace rldb::codegen {

using runtime::Result;
using runtime::Value;

namespace {

EmitOptions emit_options(std::string_view name, const OpenClOptions& options) {
  EmitOptions o;
  o.name = name;
  o.check_bounds = options.check_bounds;
  o.strict = !options.fast_math;
  return o;
}

// Why the device cannot run it; empty: as far as is known before the call, it can.
std::string device_lacks(const ClDevice& device, const Program& program) {
  if (program.needs_float64 && !device.about.float64)
    return fmt::format("{} has no float64 (cl_khr_fp64)", device.about.name);
  for (const Launch& launch : program.launches) {
    if (launch.shared_bytes > device.about.local_memory)
      return fmt::format("its blocks need {} bytes of shared memory, a block of {} has {}", launch.shared_bytes,
                         device.about.name, device.about.local_memory);
    std::uint64_t threads = 1;
    for (const ThreadAxis& axis : launch.axes) {
      const auto n = ir::const_int(axis.extent);
      if (n && *n > 0 && axis.tag.starts_with("threadIdx.") &&
          __builtin_mul_overflow(threads, std::uint64_t(*n), &threads))
        threads = UINT64_MAX;
    }
    if (const std::string why = block_is_too_large(device, launch, threads); !why.empty()) return why;
  }
  return {};
}

class OpenClKernel : public runtime::Kernel {
 public:
  OpenClKernel(ir::Context& ctx, const ClDevice& device, Program program, runtime::KernelSignature signature,
               const OpenClOptions& options)
      : ctx_(ctx), device_(device), program_(std::move(program)), signature_(std::move(signature)), options_(options) {}

  const runtime::KernelSignature& signature() const override { return signature_; }

  void prepare() override { (void)built(); }

  Result<Value> run(runtime::PackedArgs args, std::span<const std::int64_t>) override {
    RLDB_TRY(const ClProgram* code, built());
    ClCall call(device_, program_, *code, signature_, options_.interrupt);
    auto done = call.run(args);
    noted_ = call.noted();
    if (done.ok()) return Value();
    runtime::Error error = std::move(done).error();
    error.notes.push_back(fmt::format("in kernel `{}`, on {}", signature_.name, device_.about.name));
    return support::Failure(std::move(error));
  }

  void look_for(runtime::NumericEvents events) override {
    if (events == events_) return;
    EmitOptions wanted = emit_options(signature_.name, options_);
    wanted.events = events;
    auto program = emit_program(ctx_, program_.f, wanted);
    if (!program.ok()) return;  // it was written before: nothing of that depends on the events
    program_ = std::move(program).value();
    built_.reset();
    events_ = events;
  }
  std::optional<bool> may_have_written() const override { return events_ ? std::optional(noted_) : std::nullopt; }

 private:
  Result<const ClProgram*> built() {
    if (!built_) {
      auto made = ClProgram::build(device_, program_, signature_.name, !options_.fast_math);
      if (!made.ok()) return runtime::fail(runtime::ErrorKind::Unsupported, made.error().text);
      built_ = std::move(made).value();
    }
    return built_.get();
  }

  ir::Context& ctx_;
  const ClDevice& device_;
  Program program_;
  runtime::KernelSignature signature_;
  OpenClOptions options_;
  std::unique_ptr<ClProgram> built_;
  runtime::NumericEvents events_ = 0;
  bool noted_ = false;
};

ir::Result<Program> program_of(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                               const OpenClOptions& options) {
  RLDB_TRY(const ir::PrimFunc* lowered, lowered_for_gpu(ctx, f, name));
  return emit_program(ctx, lowered, emit_options(name, options));
}

}  // namespace

ir::Result<std::string> opencl_source(ir::Context& ctx, const ir::PrimFunc* f, std::string_view name,
                                      const OpenClOptions& options) {
  RLDB_TRY(Program program, program_of(ctx, f, name, options));
  return std::move(program.text);
}

ir::Result<std::shared_ptr<runtime::Kernel>> opencl_kernel(ir::Context& ctx, const ir::PrimFunc* f,
                                                           std::string_view name, const OpenClOptions& options) {
  RLDB_TRY(runtime::KernelSignature signature, eval::signature_of(f, name));
  if (!signature.result.is_void())
    return support::Failure(source::message(diag::OpenClUnsupported, name, "it returns a value"));
  RLDB_TRY(Program program, program_of(ctx, f, name, options));
  RLDB_TRY(const ClDevice* device, cl_device());
  if (const std::string why = device_lacks(*device, program); !why.empty())
    return support::Failure(source::message(diag::OpenClUnsupported, name, why));
  return std::shared_ptr<runtime::Kernel>(
      std::make_shared<OpenClKernel>(ctx, *device, std::move(program), std::move(signature), options));
}

}  // namespace rldb::codegen
