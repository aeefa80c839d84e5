// How kernels for a GPU are compiled.
#pragma once

#include <atomic>
#include <chrono>

namespace rldb::codegen {

struct GpuOptions {
  bool check_bounds = true;  // accesses that are not proved to be in bounds are tested, and a fault names its thread
  bool fast_math = false;    // products and sums may be fused, and functions are the device's own
  std::atomic<bool>* interrupt = nullptr;    // polled while the device computes
  std::chrono::milliseconds patience{3000};  // after an interrupt, for a kernel to stop
};

}  // namespace rldb::codegen
