// Validation of a pass: the module before and after, run on the same made-up inputs at boundary dims, must agree.
#pragma once

#include <string>

#include "rldb/session/session.h"

namespace rldb::repro {

// Runs every public Relax function of `before` that has a namesake in `after`, with symbolic dims 1, 2 and 7 in turn.
// Empty: same values (or same refusal). Else the first difference: function, dims, where and both values.
// A function whose inputs cannot be made up is skipped and named in `skipped` when that is given.
std::string validate_versions(session::Session& session, const ir::Module* before, const ir::Module* after,
                              std::string* skipped = nullptr);

}  // namespace rldb::repro
