// The device that runs kernels: the first one of the first platform that has any. Room-private.
#pragma once

#include <vector>

#include "codegen/opencl/api/loader.h"
#include "rldb/codegen/gpu/device.h"
#include "rldb/codegen/opencl/opencl.h"

namespace rldb::codegen {

class ClDevice : public GpuDevice {
 public:
  // Opened once; lives as long as the process.
  static ir::Result<ClDevice*> first();

  runtime::Result<GpuAddress> allocate(std::size_t bytes) override;
  void release(GpuAddress memory) override;
  runtime::Result<GpuAddress> part(GpuAddress memory, std::size_t at, std::size_t bytes) override;
  void release_part(GpuAddress part) override { release(part); }
  runtime::Result<support::Unit> write(GpuAddress to, const void* from, std::size_t bytes) override;
  runtime::Result<support::Unit> read(GpuAddress from, void* to, std::size_t bytes) override;
  runtime::Result<support::Unit> copy(GpuAddress from, std::size_t from_at, GpuAddress to, std::size_t to_at,
                                      std::size_t bytes) override;
  runtime::Result<support::Unit> clear(GpuAddress memory, std::size_t at, std::size_t bytes) override;
  ir::Result<std::unique_ptr<GpuCode>> build(const Program& program, std::string_view name, bool strict) override;
  runtime::Result<support::Unit> launch(const GpuCode& code, std::size_t which, const GpuGrid& grid,
                                        std::span<const GpuArgument> arguments) override;
  runtime::Result<bool> has_ended() override;
  void ask_to_stop(bool stop) override;

 private:
  static ir::Result<ClDevice*> open();
  std::string make_queues();
  // The driver's words after a build that failed.
  std::string log_of(cl::ProgramId program) const;

  const cl::Api* cl_ = nullptr;
  cl::DeviceId id_ = nullptr;
  cl::ContextId context_ = nullptr;
  cl::QueueId queue_ = nullptr;       // commands run in order
  cl::QueueId side_queue_ = nullptr;  // for the word that asks a kernel to stop
  bool exact_division_ = false;       // -cl-fp32-correctly-rounded-divide-sqrt is supported
  cl::EventId last_ = nullptr;        // of the last launch, until it has ended
  // The word that kernels look at: shared with the host where the device can (null: it cannot), else memory of its own.
  std::uint32_t* shared_stop_ = nullptr;
  cl::MemoryId stop_ = nullptr;
};

runtime::Error cl_error(std::string_view doing, cl::Int code);

}  // namespace rldb::codegen
