// The names of attribute.def as constants: key::Axis. Inside the room only.
#pragma once

#include <string_view>

namespace rldb::onnx::key {

#define RLDB_ONNX_ATTR(id, name) inline constexpr std::string_view id = name;
#include "onnx/attribute.def"

}  // namespace rldb::onnx::key
