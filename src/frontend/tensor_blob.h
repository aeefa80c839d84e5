// Tensors in the metadata of a text: base64 of TVM's layout. Users: the metadata readers of both languages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::frontend {

// `why` tells what is wrong when there is none.
std::optional<runtime::Value> tensor_of_base64(std::string_view text, std::string& why);

}  // namespace rldb::frontend
