// Names in an executable: text that a terminal shows literally. Used by the verifier, and by those who write
// executables.
#pragma once

#include <string_view>

namespace rldb::bytecode {

// No control characters, including those of UTF-8.
bool is_plain_text(std::string_view text);

}  // namespace rldb::bytecode
