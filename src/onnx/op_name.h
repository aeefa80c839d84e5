// The names of ONNX's operators (onnx_op.def). Inside the room only.
#pragma once

#include <string_view>

namespace rldb::onnx::op_name {

#define RLDB_ONNX_OP(Name, since, function, Target) inline constexpr std::string_view Name = #Name;
#define RLDB_ONNX_OP_OWN(Name, since, function) inline constexpr std::string_view Name = #Name;
#include "onnx/onnx_op.def"

}  // namespace rldb::onnx::op_name
