// A device that runs compiled kernels in memory of its own: the seam between what all of them need (codegen/gpu: the
// host's part of a call, tensors that stay on the device) and the API of a driver (codegen/opencl, codegen/nvptx).
//
// All functions but `launch` return when their work is done. Commands run in the order in which they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rldb/ir/context.h"
#include "rldb/runtime/device.h"
#include "rldb/runtime/error.h"

namespace rldb::codegen {

struct Program;

// Memory of the device: the driver's number or pointer for it.
using GpuAddress = std::uint64_t;

// A program that the driver has compiled.
class GpuCode {
 public:
  virtual ~GpuCode() = default;
};

// An argument of a kernel function.
struct GpuArgument {
  enum class Kind : std::uint8_t { Memory, Bytes, Stop };
  Kind kind = Kind::Bytes;
  GpuAddress memory = 0;
  std::byte bytes[8] = {};
  std::size_t size = 0;
};

struct GpuGrid {
  std::size_t blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
};

class GpuDevice {
 public:
  virtual ~GpuDevice() = default;

  std::string name;
  std::string api;         // "OpenCL"
  runtime::Device number;  // in the account of memory and traffic
  std::uint64_t block_threads = 0, shared_bytes = 0;
  std::size_t memory_bytes = SIZE_MAX;
  bool float64 = false;
  bool is_cpu = false;  // its memory is the host's, and the arrays of all threads of a block are on one stack
  std::size_t part_alignment = 1;  // of the first byte of a part
  std::size_t allocated = 0;       // by codegen/gpu
  // The last launch goes on, though nobody waits for it any more. Commands that are given now start when it has ended.
  bool abandoned = false;

  virtual runtime::Result<GpuAddress> allocate(std::size_t bytes) = 0;
  virtual void release(GpuAddress memory) = 0;
  // A range of it, as an argument for kernels; released by itself, before the whole.
  virtual runtime::Result<GpuAddress> part(GpuAddress memory, std::size_t at, std::size_t bytes) = 0;
  virtual void release_part(GpuAddress part) = 0;
  virtual runtime::Result<support::Unit> write(GpuAddress to, const void* from, std::size_t bytes) = 0;
  virtual runtime::Result<support::Unit> read(GpuAddress from, void* to, std::size_t bytes) = 0;
  // From one memory to another.
  virtual runtime::Result<support::Unit> copy(GpuAddress from, std::size_t from_at, GpuAddress to, std::size_t to_at,
                                              std::size_t bytes) = 0;
  virtual runtime::Result<support::Unit> clear(GpuAddress memory, std::size_t at, std::size_t bytes) = 0;

  // `strict`: as GpuOptions::fast_math is not set. The Message has the driver's own words.
  virtual ir::Result<std::unique_ptr<GpuCode>> build(const Program& program, std::string_view name, bool strict) = 0;
  virtual runtime::Result<support::Unit> launch(const GpuCode& code, std::size_t which, const GpuGrid& grid,
                                                std::span<const GpuArgument> arguments) = 0;
  virtual runtime::Result<bool> has_ended() = 0;  // the last launch; an Error: it has failed
  // Sets or clears the word that kernels look at in long loops, also while one runs.
  virtual void ask_to_stop(bool stop) = 0;
};

}  // namespace rldb::codegen
