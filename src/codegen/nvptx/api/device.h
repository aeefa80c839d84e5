// The device that runs kernels: the first one. Room-private.
#pragma once

#include <vector>

#include "codegen/nvptx/api/driver.h"
#include "rldb/codegen/gpu/device.h"
#include "rldb/codegen/nvptx/nvptx.h"

namespace rldb::codegen {

class CuDevice : public GpuDevice {
 public:
  // Opened once; lives as long as the process.
  static ir::Result<CuDevice*> first();

  runtime::Result<GpuAddress> allocate(std::size_t bytes) override;
  void release(GpuAddress memory) override;
  runtime::Result<GpuAddress> part(GpuAddress memory, std::size_t at, std::size_t bytes) override;
  void release_part(GpuAddress) override {}
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
  static ir::Result<CuDevice*> open();
  runtime::Result<support::Unit> checked(std::string_view doing, cu::Result code) const;
  runtime::Result<support::Unit> finished(std::string_view doing, cu::Result code) const;

  const cu::Api* cu_ = nullptr;
  cu::ContextId context_ = nullptr;
  cu::StreamId stream_ = nullptr;  // commands run in order
  std::uint32_t* stop_ = nullptr;  // the word that kernels look at, in memory of the host that the device maps
  cu::Address stop_on_device_ = 0;
};

}  // namespace rldb::codegen
