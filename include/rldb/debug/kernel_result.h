// The results of a kernel that is run by itself: it returns nothing and writes buffers.
// Users: `run` in batch and at the prompt.
#pragma once

#include <span>
#include <string_view>

#include "rldb/runtime/value.h"

namespace rldb::session {
class Session;
}

namespace rldb::debug {

// Copies of the arguments that `function` writes, a tuple if there are several. Null: it is no kernel, writes none of
// them, or there is no memory for the copies.
runtime::Value kernel_result(const session::Session& session, std::string_view function,
                             std::span<const runtime::Value> arguments);

}  // namespace rldb::debug
