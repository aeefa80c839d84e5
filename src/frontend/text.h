// Whether a text can be read at all. Users: parse.cc, document.cc.
#pragma once

#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend {

// False after a diagnostic: too large, binary, empty, or more than the tree-sitter runtime can hold (which need not be
// checked when `within_limits` is known).
bool check_text(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out,
                bool within_limits = false);
// The same for a Relay text.
bool check_relay_text(const source::Buffer& buffer, source::FileId file, source::Diagnostics& out);

}  // namespace rldb::frontend
