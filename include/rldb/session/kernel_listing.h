// The texts of a kernel of the program, line beside line (codegen/llvm/listing.h), under the session's options.
// Users: the pages.
#pragma once

#include <optional>
#include <string_view>

#include "rldb/codegen/llvm/listing.h"
#include "rldb/session/session.h"

namespace rldb::session {

// None: there is no such kernel, or it cannot be compiled; diagnosed.
std::optional<codegen::KernelListing> kernel_listing(Session& session, std::string_view name, Diagnostics& out);

}  // namespace rldb::session
