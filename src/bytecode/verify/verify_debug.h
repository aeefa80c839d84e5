// The part of the verifier that checks debug info. Room-private; verify() calls it when the code is known to be good.
#pragma once

#include "rldb/bytecode/executable.h"
#include "rldb/bytecode/plain_text.h"

namespace rldb::bytecode {

// Every index stays in its table, every range in its function, every name is plain text.
runtime::Result<support::Unit> verify_debug_info(const Executable& exe);

}  // namespace rldb::bytecode
