// A PrimFunc run by a device, as a kernel of the table.
#include "rldb/codegen/gpu/kernel.h"

#include <fmt/format.h>

#include <utility>

#include "codegen/gpu/call.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/thread_tag.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/foreign_code.h"

namespace rldb::codegen {

using runtime::Result;
using runtime::Value;

std::string device_lacks(const GpuDevice& device, const Program& program) {
  if (program.needs_float64 && !device.float64)
    return fmt::format("{} has no float64{}", device.name, device.api == "OpenCL" ? " (cl_khr_fp64)" : "");
  for (const Launch& launch : program.launches) {
    if (launch.shared_bytes > device.shared_bytes)
      return fmt::format("its blocks need {} bytes of shared memory, a block of {} has {}", launch.shared_bytes,
                         device.name, device.shared_bytes);
    std::uint64_t threads = 1;
    for (const ThreadAxis& axis : launch.axes) {
      const auto n = ir::const_int(axis.extent);
      if (n && *n > 0 && ir::is_thread_idx(axis.tag) && __builtin_mul_overflow(threads, std::uint64_t(*n), &threads))
        threads = UINT64_MAX;
    }
    if (const std::string why = block_is_too_large(device, launch, threads); !why.empty()) return why;
  }
  return {};
}

namespace {

class GpuKernel : public runtime::Kernel {
 public:
  GpuKernel(GpuDevice& device, Program program, runtime::KernelSignature signature, const GpuOptions& options,
            GpuEmit emit)
      : device_(device),
        program_(std::move(program)),
        signature_(std::move(signature)),
        options_(options),
        emit_(std::move(emit)) {}

  const runtime::KernelSignature& signature() const override { return signature_; }

  void prepare() override { (void)code(); }

  Result<Value> run(runtime::PackedArgs args, std::span<const std::int64_t>) override {
    if (auto earlier = runtime::take_device_error()) return support::Failure(std::move(*earlier));
    RLDB_TRY(const GpuCode* code, this->code());
    GpuCall call(device_, program_, *code, signature_, options_);
    auto done = call.run(args);
    runtime::foreign_code_has_run();  // the driver's
    noted_ = call.noted();
    if (done.ok()) return Value();
    runtime::Error error = std::move(done).error();
    error.notes.push_back(fmt::format("in kernel `{}`, on {}", signature_.name, device_.name));
    return support::Failure(std::move(error));
  }

  void look_for(runtime::NumericEvents events) override {
    if (events == events_) return;
    auto program = emit_(events);
    if (!program.ok()) return;  // it was written before: nothing of that depends on the events
    program_ = std::move(program).value();
    code_.reset();
    events_ = events;
  }
  std::optional<bool> may_have_written() const override { return events_ ? std::optional(noted_) : std::nullopt; }

 private:
  Result<const GpuCode*> code() {
    if (!code_) {
      auto made = device_.build(program_, signature_.name, !options_.fast_math);
      if (!made.ok()) return runtime::fail(runtime::ErrorKind::Unsupported, made.error().text);
      code_ = std::move(made).value();
    }
    return code_.get();
  }

  GpuDevice& device_;
  Program program_;
  runtime::KernelSignature signature_;
  GpuOptions options_;
  GpuEmit emit_;
  std::unique_ptr<GpuCode> code_;
  runtime::NumericEvents events_ = 0;
  bool noted_ = false;
};

}  // namespace

std::shared_ptr<runtime::Kernel> gpu_kernel(GpuDevice& device, Program program, runtime::KernelSignature signature,
                                            const GpuOptions& options, GpuEmit emit) {
  return std::make_shared<GpuKernel>(device, std::move(program), std::move(signature), options, std::move(emit));
}

}  // namespace rldb::codegen
