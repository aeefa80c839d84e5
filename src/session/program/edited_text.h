// For programs whose text is edited, in either language: how lines move, and the diagnostics of a text that is refused.
// Room-private.
#pragma once

#include <string_view>
#include <vector>

#include "rldb/frontend/document.h"
#include "rldb/session/session.h"

namespace rldb::session {

std::vector<TextChange::LineShift> line_shifts(const source::Buffer& old, std::string_view text);
void note_read(const frontend::ReadScope& read, TextChange& change);
// The same diagnostic in another file with the text.
source::Diagnostic in_file(source::Diagnostic d, source::FileId from, source::FileId to);

}  // namespace rldb::session
