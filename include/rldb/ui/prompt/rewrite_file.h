// Rewrite rules from a file, applied to a session's module. Users: `:rewrite`, `rldb opt --rewriter`.
#pragma once

#include <optional>
#include <string>

#include "rldb/session/session.h"

namespace rldb::ui {

// The number of replaced matches; if there were any, the verified result is a new version. Nullopt: diagnosed, and
// nothing is changed.
std::optional<std::size_t> rewrite_by_file(session::Session& session, const std::string& path,
                                           source::Diagnostics& out);

}  // namespace rldb::ui
