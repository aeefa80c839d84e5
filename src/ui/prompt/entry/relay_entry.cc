// Entries in the Relay language: definitions that are added to the program, expressions that are evaluated.
#include "ui/prompt/entry/relay_entry.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/frontend/relay_entry.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/ui/prompt/data.h"
#include "ui/prompt/commands/loaded.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kEntryName = "<prompt>";

Status load_relay(Repl& repl, std::string_view text) {
  if (!repl.may_end_run("loading a program")) return Status::Failed;
  const bool whole = frontend::has_relay_version(text);
  std::string module = whole ? std::string(text) : fmt::format("#[version = \"0.0.5\"] {}", text);
  source::Diagnostics diagnostics;
  const bool ok = repl.session().load_text(std::string(kEntryName), std::move(module), diagnostics);
  repl.report(diagnostics);
  if (!ok) return Status::Failed;
  repl.debugger().kill();
  repl.begin_run();
  return tell_loaded(repl);
}

// Errors are shown in the entry, or in the program's text as it was: the user has not seen the text that joins the two.
// Between two pieces a place belongs to the end of the first.
source::Span written_at(const source::Span& span, const frontend::RelayAddition& added, source::FileId entry,
                        source::FileId program) {
  const frontend::RelayAddition::Piece* piece = nullptr;
  for (const frontend::RelayAddition::Piece& p : added.pieces) {
    const bool at_end = piece && span.begin == span.end && piece->begin + piece->size == span.begin;
    if (p.begin <= span.begin && !at_end) piece = &p;
  }
  if (!piece) return span;
  const std::uint32_t piece_end = piece->begin + piece->size;
  const std::uint32_t begin = std::min(span.begin, piece_end), end = std::clamp(span.end, begin, piece_end);
  return {piece->of_entry ? entry : program, begin - piece->begin + piece->from, end - piece->begin + piece->from};
}

void report_refused(Repl& repl, const source::Diagnostics& found, const frontend::RelayAddition& added,
                    std::string_view text, source::FileId program) {
  source::SourceManager& sources = repl.session().sources();
  const source::FileId entry = sources.add(std::string(kEntryName), std::string(text));
  source::Diagnostics placed;
  source::FileId joined;
  const auto place = [&](source::Span& span) {
    if (!joined && span.file && span.file != program && sources.get(span.file).text() == added.text) joined = span.file;
    if (joined && span.file == joined) span = written_at(span, added, entry, program);
  };
  for (source::Diagnostic d : found.all()) {
    place(d.span);
    for (source::Note& note : d.notes) place(note.span);
    placed.add(std::move(d));
  }
  repl.report(placed);
}

// After an edit of the text of the program, whose outcome `key` names for a script and `done` for a reader.
Status tell_edited(Repl& repl, const source::Diagnostics& diagnostics, const session::TextChange& change,
                   std::string_view key, std::string_view done, const std::vector<std::string>& names) {
  repl.report(diagnostics);
  repl.debugger().kill();
  repl.debugger().resolve_breakpoints();
  if (diagnostics.has_errors()) return Status::Failed;  // a pass
  if (repl.wants_json()) return repl.give({{std::string(key), names}});
  for (const std::string& name : names) repl.print("{} {}\n", done, name);
  if (!change.passes.empty()) repl.print("applied again: {}\n", fmt::join(change.passes, ", "));
  return Status::Good;
}

Status add_definitions(Repl& repl, const session::RelayText& program, std::string_view text) {
  const source::FileId file = program.source().file;
  const std::string before(program.text());
  const auto earlier = program.entered();
  const std::size_t earlier_at = program.entered_at();
  const frontend::RelayAddition added = frontend::with_relay_definitions(before, text);
  if (!repl.may_end_run(fmt::format("a new definition of `{}`", fmt::join(added.names, "`, `")))) return Status::Failed;
  source::Diagnostics diagnostics;
  session::TextChange change;
  const bool ok = repl.session().edit_text(added.text, diagnostics, &change);
  if (!ok) {
    report_refused(repl, diagnostics, added, text, file);
    return Status::Failed;
  }
  if (session::RelayText* edited = session::relay_text(repl.session().program()))
    edited->note_entered(added.names, before, earlier, earlier_at);
  return tell_edited(repl, diagnostics, change, "defined", "defined", added.names);
}

}  // namespace

Status run_relay_entry(Repl& repl, std::string_view text) {
  if (frontend::has_relay_version(text)) return load_relay(repl, text);
  if (!frontend::begins_relay_definition(text)) {
    source::Message m = source::message(diag::UnsupportedHere, "an expression of Relay alone", "at the prompt");
    m.hint = "make it a function: `def @main() { ... }`";
    return repl.fail(std::move(m));
  }
  if (!repl.session().program()) return load_relay(repl, text);
  if (const session::RelayText* program = session::relay_text(repl.session().program()))
    return add_definitions(repl, *program, text);
  source::Message m =
      source::message(diag::UnsupportedHere, "a definition of Relay", "in a program that is not Relay text");
  m.hint = "a text that begins with `#[version = \"0.0.5\"]` is loaded instead of the program";
  return repl.fail(std::move(m));
}

bool can_take_back_definitions(Repl& repl, std::size_t version) {
  const session::RelayText* program = session::relay_text(repl.session().program());
  if (!program || !program->entered()) return false;
  return version == 0 || version == program->entered_at();
}

Status take_back_definitions(Repl& repl) {
  const session::RelayText& program = *session::relay_text(repl.session().program());
  const std::shared_ptr<session::RelayEntered> entered = program.entered();
  if (!repl.may_end_run(fmt::format("taking back `{}`", fmt::join(entered->names, "`, `")))) return Status::Failed;
  source::Diagnostics diagnostics;
  session::TextChange change;
  if (!repl.session().edit_text(program.text_before_entered(), diagnostics, &change)) {
    repl.report(diagnostics);
    return Status::Failed;
  }
  if (session::RelayText* edited = session::relay_text(repl.session().program()))
    edited->set_entered(entered->before, entered->version_before);
  return tell_edited(repl, diagnostics, change, "taken_back", "took back", entered->names);
}

}  // namespace rldb::ui
