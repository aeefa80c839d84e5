// When the prelude is read. Users: the two ways to read a program, at once and as a document.
#pragma once

#include "rldb/frontend/relay.h"

namespace rldb::frontend {

// Whether one of the errors is that a name of the prelude is not known.
bool may_need_prelude(std::string_view text, const source::Diagnostics& found);
// `prelude`: its text among the sources; none before it was needed.
RelayResult parse_relay_program(relay::Context& ctx, source::SourceManager& sources, source::FileId file,
                                source::Diagnostics& out, source::FileId& prelude);

}  // namespace rldb::frontend
