// Tensors in the metadata of a text: base64 of TVM's NDArray layout. Users: the metadata readers of both languages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/runtime/value.h"

namespace rldb::frontend {

std::optional<std::vector<std::uint8_t>> decode_base64(std::string_view text);
// `why` says what is wrong when there is none.
std::optional<runtime::Value> tensor_of_blob(const std::vector<std::uint8_t>& blob, std::string& why);

}  // namespace rldb::frontend
