// The part of the verifier that checks debug info. Room-private; verify() calls it when the code is known to be good.
#pragma once

#include <string_view>

#include "rldb/bytecode/executable.h"

namespace rldb::bytecode {

// Every index stays in its table, every range in its function, every name is plain text.
runtime::Result<support::Unit> verify_debug_info(const Executable& exe);

// Text that a terminal shows literally: no control characters, including those of UTF-8.
bool is_plain_text(std::string_view text);

}  // namespace rldb::bytecode
