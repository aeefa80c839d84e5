// Programs compiled for the device, and launches of their functions.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "codegen/opencl/api/device.h"
#include "rldb/codegen/gpu/program.h"
#include "rldb/source/diagnostic_opencl.h"

namespace rldb::codegen {

using runtime::Result;
using support::Unit;

namespace {

class ClCode : public GpuCode {
 public:
  explicit ClCode(const cl::Api& cl) : cl_(cl) {}
  ~ClCode() override {
    for (const cl::KernelId k : kernels) cl_.clReleaseKernel(k);
    if (program) cl_.clReleaseProgram(program);
  }
  ClCode(const ClCode&) = delete;
  ClCode& operator=(const ClCode&) = delete;

  cl::ProgramId program = nullptr;
  std::vector<cl::KernelId> kernels;  // by launch

 private:
  const cl::Api& cl_;
};

}  // namespace

// The first lines of what the compiler says.
std::string ClDevice::log_of(cl::ProgramId program) const {
  constexpr std::size_t kMost = 600;
  std::size_t size = 0;
  if (cl_->clGetProgramBuildInfo(program, id_, cl::kBuildLog, 0, nullptr, &size) != cl::kSuccess) return {};
  std::string log(size, '\0');
  cl_->clGetProgramBuildInfo(program, id_, cl::kBuildLog, size, log.data(), nullptr);
  log.resize(std::min(log.find('\0'), log.size()));
  return log.substr(0, kMost);
}

ir::Result<std::unique_ptr<GpuCode>> ClDevice::build(const Program& program, std::string_view name, bool strict) {
  const auto refused = [&](const std::string& why) {
    return support::Failure(source::message(diag::OpenClBuild, name, why));
  };
  auto built = std::make_unique<ClCode>(*cl_);
  const char* text = program.text.c_str();
  const std::size_t size = program.text.size();
  cl::Int error = cl::kSuccess;
  built->program = cl_->clCreateProgramWithSource(context_, 1, &text, &size, &error);
  if (error != cl::kSuccess) return refused(cl::error_name(error));
  std::string options = "-cl-std=CL1.2";
  if (strict && exact_division_) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (!strict) options += " -cl-mad-enable";
  error = cl_->clBuildProgram(built->program, 1, &id_, options.c_str(), nullptr, nullptr);
  if (error != cl::kSuccess) return refused(cl::error_name(error) + "\n" + log_of(built->program));
  for (const Launch& launch : program.launches) {
    cl::KernelId kernel = cl_->clCreateKernel(built->program, launch.function.c_str(), &error);
    if (error != cl::kSuccess) return refused(cl::error_name(error));
    built->kernels.push_back(kernel);
  }
  return std::unique_ptr<GpuCode>(std::move(built));
}

Result<Unit> ClDevice::launch(const GpuCode& code, std::size_t which, const GpuGrid& grid,
                              std::span<const GpuArgument> arguments) {
  const cl::KernelId kernel = static_cast<const ClCode&>(code).kernels[which];
  cl::Uint index = 0;
  for (const GpuArgument& a : arguments) {
    cl::Int error = cl::kSuccess;
    switch (a.kind) {
      case GpuArgument::Kind::Memory: {
        const auto id = reinterpret_cast<cl::MemoryId>(a.memory);
        error = cl_->clSetKernelArg(kernel, index, sizeof id, &id);
        break;
      }
      case GpuArgument::Kind::Bytes:
        error = cl_->clSetKernelArg(kernel, index, a.size, a.bytes);
        break;
      case GpuArgument::Kind::Stop:
        error = shared_stop_ ? cl_->clSetKernelArgSVMPointer(kernel, index, shared_stop_)
                             : cl_->clSetKernelArg(kernel, index, sizeof stop_, &stop_);
        break;
    }
    if (error != cl::kSuccess) return support::Failure(cl_error("pass arguments to a kernel", error));
    ++index;
  }
  std::size_t all[3];
  for (int i = 0; i < 3; ++i) all[i] = grid.blocks[i] * grid.threads[i];
  if (last_) cl_->clReleaseEvent(std::exchange(last_, nullptr));
  const cl::Int error = cl_->clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, all, grid.threads, 0, nullptr, &last_);
  if (error != cl::kSuccess) return support::Failure(cl_error("launch a kernel", error));
  cl_->clFlush(queue_);
  return Unit{};
}

Result<bool> ClDevice::has_ended() {
  if (!last_) return true;
  cl::Int status = 1;
  const cl::Int error = cl_->clGetEventInfo(last_, cl::kCommandStatus, sizeof status, &status, nullptr);
  if (error != cl::kSuccess) return support::Failure(cl_error("ask for the state of a kernel", error));
  if (status > cl::kComplete) return false;
  cl_->clReleaseEvent(std::exchange(last_, nullptr));
  if (status < 0) return support::Failure(cl_error("complete a kernel", status));
  return true;
}

// PoCL and other devices share memory with the host; elsewhere the word is written by a queue that waits for no kernel.
void ClDevice::ask_to_stop(bool stop) {
  static constexpr std::uint32_t kWords[] = {0, 1};  // read when the command runs
  if (shared_stop_) {
    std::atomic_ref(*shared_stop_).store(kWords[stop]);
    return;
  }
  cl_->clEnqueueWriteBuffer(side_queue_, stop_, 0, 0, sizeof kWords[0], &kWords[stop], 0, nullptr, nullptr);
  cl_->clFlush(side_queue_);
}

}  // namespace rldb::codegen
