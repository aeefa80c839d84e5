// Round trip: print a module, read that text again, compare. For `check --roundtrip` and the conformance runs.
#pragma once

#include <string>

#include "rldb/session/session.h"

namespace rldb::repro {

// Of the session's program: a text by its current version, including constants, an executable by its bytes. Empty:
// parse(print(m)) equals m and prints the same bytes. Diagnostics of the second reading go to `out`.
std::string roundtrip(session::Session& session, const ir::PrintOptions& options, source::Diagnostics& out);

}  // namespace rldb::repro
