// Values as the texts of options and commands: `2xf32=1,2`, `@x.npy`, `@x.pb`.
#pragma once

#include <string_view>

#include "rldb/runtime/error.h"
#include "rldb/runtime/value.h"

namespace rldb::session {

// A literal or a tensor file (runtime::parse_value_literal), or `@x.pb`: a tensor as ONNX's tests have it.
runtime::Result<runtime::Value> value_of_text(std::string_view text);

}  // namespace rldb::session
