// The targets of the rows of aten_op.def: variants, and names of ONNX's operators. Inside the room only.
#pragma once

#include "onnx/op_name.h"

namespace rldb::onnx::aten {

namespace variant {

#define RLDB_ATEN_VARIANT(Name) inline constexpr std::string_view Name = #Name;
#include "onnx/aten/variant.def"

}  // namespace variant

namespace target {

using namespace op_name;
using namespace variant;

}  // namespace target

}  // namespace rldb::onnx::aten
