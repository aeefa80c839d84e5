// Base64 (RFC 4648, with padding): the encoding of tensors in metadata sections of texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rldb::support {

std::string encode_base64(std::string_view bytes);
// Spaces and newlines between the digits are allowed; nullopt for a character that is not a digit.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace rldb::support
