// Base64 (RFC 4648, with padding): how metadata sections of texts carry tensors.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rldb::support {

std::string encode_base64(std::string_view bytes);
// Spaces and newlines between the digits are allowed; nothing for a character that is no digit.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace rldb::support
