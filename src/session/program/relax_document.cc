// Relax text that is edited: its document, and going back to the text before an edit.
#include "rldb/frontend/document.h"
#include "rldb/source/diagnostic_program.h"
#include "session/program/edited_text.h"
#include "session/program/relax_text.h"

namespace rldb::session {

struct Session::RelaxText::EditedText {
  EditedText(Session& session, std::string path, std::string text)
      : document(session.sources_, std::move(path), std::move(text), {}, session.ctx_) {}

  frontend::Document document;
  std::uint64_t revision = 0;
  // Before the last edit. An edit moves the places that the module recorded; of a part that it removed nothing else
  // knows them.
  struct Before {
    std::string text;
    std::vector<source::Span> spans;
  };
  std::optional<Before> before;

  Before now(ir::Context& ctx) const { return {std::string(document.text()), ctx.spans().rows()}; }
  void go_back(ir::Context& ctx) {
    const Before to = std::move(*before);
    before.reset();
    document.update(to.text);
    std::vector<source::Span>& rows = ctx.spans().rows();
    for (std::size_t i = 0; i < to.spans.size(); ++i)
      if (to.spans[i].file == document.file()) rows[i] = to.spans[i];
  }
};

std::unique_ptr<Program> Session::RelaxText::read_document(Session& session, std::string path, std::string text,
                                                           Diagnostics& out) {
  auto edited = std::make_shared<EditedText>(session, path, std::move(text));
  const frontend::Document& document = edited->document;
  for (const source::Diagnostic& d : document.diagnostics().all()) out.add(d);
  const frontend::ParseResult& result = document.result();
  const bool errors = document.diagnostics().has_errors();
  if (!result.module && !errors) out.add({document.file(), 0, 0}, source::message(diag::NothingToLoad, path));
  if (!result.module || errors) return nullptr;
  auto program = std::make_unique<RelaxText>(session, std::move(path), result.module, result.check_well_formed);
  program->edited_ = std::move(edited);
  return program;
}

std::unique_ptr<Program> Session::RelaxText::edit(std::string_view text, Diagnostics& out, TextChange& change) {
  EditedText& edited = *edited_;
  frontend::Document& document = edited.document;
  edited.before = edited.now(*session_.ctx_);
  const std::uint64_t before = edited.revision++;
  try {
    document.update(text);
  } catch (...) {
    edited.go_back(*session_.ctx_);
    edited.revision = before;
    throw;
  }
  const frontend::ParseResult& result = document.result();
  const bool errors = document.diagnostics().has_errors();
  if (!result.module || errors) {
    // The reader sees the text that has the errors; the program keeps its own.
    const source::FileId refused = session_.sources_.add(path_, std::string(text));
    for (const source::Diagnostic& d : document.diagnostics().all()) out.add(in_file(d, document.file(), refused));
    if (!result.module && !errors) out.add({refused, 0, 0}, source::message(diag::NothingToLoad, path_));
    edited.go_back(*session_.ctx_);
    edited.revision = before;
    return nullptr;
  }
  for (const source::Diagnostic& d : document.diagnostics().all()) out.add(d);
  note_read(document.last_read(), change);
  auto program = std::make_unique<RelaxText>(session_, path_, result.module, result.check_well_formed);
  program->edited_ = edited_;
  program->revision_ = edited.revision;
  return program;
}

source::FileId Session::RelaxText::file_of_document() const { return edited_->document.file(); }

void Session::RelaxText::undo_edit() noexcept {
  if (!edited_ || edited_->revision == revision_) return;
  try {
    if (edited_->before && edited_->revision == revision_ + 1) {
      edited_->go_back(*session_.ctx_);
      edited_->revision = revision_;
      return;
    }
  } catch (...) {
    // The next edit reads the whole text.
  }
  edited_.reset();
}

}  // namespace rldb::session
