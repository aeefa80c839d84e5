// Devices in the text of Relay: the attributes of `on_device` and `device_copy`. Room-private.
#pragma once

#include <optional>

#include "rldb/relay/ir/attributes.h"
#include "rldb/runtime/device.h"

namespace rldb::relay {

// nullopt: none is given. A device is a number of a type (until 0.8), or a VirtualDevice of the metadata.
std::optional<runtime::Device> device_of_annotation(const Call& on_device);
std::optional<runtime::Device> source_of_copy(const Call& device_copy);
std::optional<runtime::Device> destination_of_copy(const Call& device_copy);

}  // namespace rldb::relay
