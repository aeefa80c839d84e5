// Devices in the list of a module: I.module_global_infos({"vdevice": [I.vdevice("opencl", 0, "global")]}).
#pragma once

#include "rldb/ir/context.h"

namespace rldb::passes {

inline constexpr std::string_view kDeviceList = "vdevice";
const ir::Attr* device_info(ir::Context& ctx, const ir::VDevice* d);

}  // namespace rldb::passes
