// One side of a comparison: a version of the session's program, whatever its kind. Users: `rldb compare`, `:compare`.
#pragma once

#include <optional>
#include <string>

#include "rldb/repro/compare.h"

namespace rldb::ui {

repro::Program side_at(const session::Session& session, std::size_t version);
// The side becomes the result of passes on it; the session's program stays as it is. False: diagnosed.
bool apply_passes(session::Session& session, const std::string& passes, repro::Program& side, source::Diagnostics& out);
// The arguments of the side's function, for both sides. None: diagnosed.
std::optional<repro::ComparedInputs> inputs_of(session::Session& session, const repro::Program& side,
                                               const std::vector<std::string>& texts, source::Diagnostics& out);

}  // namespace rldb::ui
