// Waiting for a launch. Room-private.
#pragma once

#include <atomic>
#include <string_view>

#include "rldb/codegen/gpu/device.h"
#include "rldb/codegen/gpu/options.h"

namespace rldb::codegen {

// ^C asks the kernel to stop. One that does not hear of it in time is abandoned: it goes on, and nobody waits.
runtime::Result<support::Unit> wait_for_launch(GpuDevice& device, const GpuOptions& options, std::string_view kernel);
// Until a kernel that was abandoned has ended; another ^C ends the wait. `before`: for what.
runtime::Result<support::Unit> wait_for_abandoned(GpuDevice& device, std::atomic<bool>* interrupt,
                                                  std::string_view before);

}  // namespace rldb::codegen
