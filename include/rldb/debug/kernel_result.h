// What a kernel that is run by itself gives: it returns nothing, its results are the buffers that it writes.
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
