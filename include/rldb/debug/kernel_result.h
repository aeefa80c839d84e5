// The results of a kernel that is run by itself: it returns nothing and writes buffers.
// Users: `run` in batch, at the prompt and in an editor.
#pragma once

#include <span>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::session {
class Session;
}

namespace rldb::debug {

// The arguments that `function` stores to, a tuple if there are several; no copies: they change with a further run, and
// on the way back. Null: it is no kernel, or stores to none of them.
runtime::Value kernel_result(const session::Session& session, std::string_view function,
                             std::span<const runtime::Value> arguments);

}  // namespace rldb::debug
