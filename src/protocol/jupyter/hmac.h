// HMAC with SHA-256, by which Jupyter's messages are signed. Sources: RFC 2104, FIPS 180-4.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rldb::protocol::jupyter {

// In hexadecimal, of the parts one after the other.
std::string hmac_sha256(std::string_view key, std::span<const std::string> parts);

// The time it takes does not depend on where they differ.
bool is_same_signature(std::string_view a, std::string_view b);

}  // namespace rldb::protocol::jupyter
