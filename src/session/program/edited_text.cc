// Lines of an edited text, and diagnostics in another file.
#include "session/program/edited_text.h"

#include <algorithm>

namespace rldb::session {

namespace {

TextChange::LineShift line_shift(const source::Buffer& old, const frontend::TextReplacement& edit) {
  const auto breaks = [](std::string_view text) { return std::count(text.begin(), text.end(), '\n'); };
  TextChange::LineShift shift{};
  shift.from = old.line_column(edit.begin).line;
  const bool whole_lines = old.line_start(shift.from) == edit.begin && (edit.text.empty() || edit.text.ends_with('\n'));
  const std::int64_t removed = breaks(old.text().substr(edit.begin, edit.end - edit.begin));
  shift.behind = static_cast<std::uint32_t>(shift.from + removed + (whole_lines ? 0 : 1));
  shift.delta = breaks(edit.text) - removed;
  return shift;
}

}  // namespace

std::vector<TextChange::LineShift> line_shifts(const source::Buffer& old, std::string_view text) {
  std::vector<TextChange::LineShift> shifts;
  for (const frontend::TextReplacement& e : frontend::edits_between(old.text(), text))
    shifts.push_back(line_shift(old, e));
  return shifts;
}

void note_read(const frontend::ReadScope& read, TextChange& change) {
  change.whole = read.whole;
  change.functions = read.functions;
  change.statements = read.statements;
}

source::Diagnostic in_file(source::Diagnostic d, source::FileId from, source::FileId to) {
  if (d.span.file == from) d.span.file = to;
  for (source::Note& note : d.notes)
    if (note.span.file == from) note.span.file = to;
  return d;
}

std::uint32_t TextChange::moved_line(std::uint32_t line) const {
  std::int64_t moved = line;
  for (const LineShift& shift : shifts) {
    if (line >= shift.behind)
      moved += shift.delta;
    else if (line > shift.from)
      moved -= line - shift.from;
  }
  return static_cast<std::uint32_t>(moved);
}

}  // namespace rldb::session
