#include "codegen/opencl/run/built.h"

#include <algorithm>
#include <memory>

#include "rldb/source/diagnostic_opencl.h"

namespace rldb::codegen {

namespace {

// The first lines of what the compiler says.
std::string log_of(const ClDevice& device, cl::ProgramId id) {
  constexpr std::size_t kMost = 600;
  std::size_t size = 0;
  if (device.api->clGetProgramBuildInfo(id, device.id, cl::kBuildLog, 0, nullptr, &size) != cl::kSuccess) return {};
  std::string log(size, '\0');
  device.api->clGetProgramBuildInfo(id, device.id, cl::kBuildLog, size, log.data(), nullptr);
  log.resize(std::min(log.find('\0'), log.size()));
  return log.substr(0, kMost);
}

}  // namespace

ir::Result<std::unique_ptr<ClProgram>> ClProgram::build(const ClDevice& device, const Program& program,
                                                        std::string_view name, bool strict) {
  const auto refused = [&](const std::string& why) {
    return support::Failure(source::message(diag::OpenClBuild, name, why));
  };
  std::unique_ptr<ClProgram> built(new ClProgram(device));
  const char* text = program.text.c_str();
  const std::size_t size = program.text.size();
  cl::Int error = cl::kSuccess;
  built->id_ = device.api->clCreateProgramWithSource(device.context, 1, &text, &size, &error);
  if (error != cl::kSuccess) return refused(cl::error_name(error));
  std::string options = "-cl-std=CL1.2";
  if (strict && device.exact_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  if (!strict) options += " -cl-mad-enable";
  error = device.api->clBuildProgram(built->id_, 1, &device.id, options.c_str(), nullptr, nullptr);
  if (error != cl::kSuccess) return refused(cl::error_name(error) + "\n" + log_of(device, built->id_));
  for (const Launch& launch : program.launches) {
    cl::KernelId kernel = device.api->clCreateKernel(built->id_, launch.function.c_str(), &error);
    if (error != cl::kSuccess) return refused(cl::error_name(error));
    built->kernels_.push_back(kernel);
  }
  return built;
}

ClProgram::~ClProgram() {
  for (const cl::KernelId k : kernels_) device_.api->clReleaseKernel(k);
  if (id_) device_.api->clReleaseProgram(id_);
}

}  // namespace rldb::codegen
