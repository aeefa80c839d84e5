// Programs of Relax whose text is edited, in Relax or in Relay: their documents, and going back to the text before an
// edit.
#include <algorithm>

#include "rldb/frontend/document.h"
#include "rldb/frontend/relay_document.h"
#include "rldb/ir/verifier.h"
#include "rldb/relay/ops/typing_memo.h"
#include "rldb/source/diagnostic_program.h"
#include "session/program/edited_text.h"
#include "session/program/relax_text.h"

namespace rldb::session {

struct Session::RelaxText::EditedText {
  explicit EditedText(ir::Context& ctx) : ctx(ctx) {}
  virtual ~EditedText() = default;
  virtual bool is_relay() const = 0;
  virtual source::FileId file() const = 0;
  virtual std::string_view text() const = 0;
  // The places of all nodes of `ctx` follow the edit.
  virtual void update(std::string_view text) = 0;
  // Of the present text; null after errors.
  virtual const ir::Module* read(Diagnostics& out) = 0;
  virtual bool check_well_formed() const = 0;
  virtual frontend::ReadScope last_read() const = 0;

  // Before the last edit. An edit moves the places that the module recorded; of a part that it removed nothing else
  // knows them.
  struct Before {
    std::string text;
    std::vector<source::Span> spans;
  };
  Before now() const { return {std::string(text()), ctx.spans().rows()}; }
  void go_back() {
    const Before to = std::move(*before);
    before.reset();
    update(to.text);
    std::vector<source::Span>& rows = ctx.spans().rows();
    for (std::size_t i = 0; i < to.spans.size(); ++i)
      if (to.spans[i].file == file()) rows[i] = to.spans[i];
  }

  ir::Context& ctx;
  std::uint64_t revision = 0;
  std::optional<Before> before;
};

struct Session::RelaxText::EditedScript final : EditedText {
  EditedScript(Session& session, std::string path, std::string text)
      : EditedText(*session.ctx_), document(session.sources_, std::move(path), std::move(text), {}, session.ctx_) {}
  bool is_relay() const override { return false; }
  source::FileId file() const override { return document.file(); }
  std::string_view text() const override { return document.text(); }
  void update(std::string_view text) override { document.update(text); }
  const ir::Module* read(Diagnostics& out) override {
    for (const source::Diagnostic& d : document.diagnostics().all()) out.add(d);
    return document.diagnostics().has_errors() ? nullptr : document.result().module;
  }
  bool check_well_formed() const override { return document.result().check_well_formed; }
  frontend::ReadScope last_read() const override { return document.last_read(); }

  frontend::Document document;
};

struct Session::RelaxText::EditedRelay final : EditedText {
  EditedRelay(Session& session, std::string path, std::string text)
      : EditedText(*session.ctx_), document(session.sources_, std::move(path), std::move(text)) {}
  bool is_relay() const override { return true; }
  source::FileId file() const override { return document.file(); }
  std::string_view text() const override { return document.text(); }
  void update(std::string_view text) override {
    const std::string old(document.text());
    document.update(text);
    std::vector<frontend::TextReplacement> edits = frontend::edits_between(old, text);
    std::reverse(edits.begin(), edits.end());  // their places are those of the old text
    for (const frontend::TextReplacement& e : edits) {
      const frontend::TextEdit edit{e.begin, e.end, static_cast<std::uint32_t>(e.begin + e.text.size())};
      for (source::Span& s : ctx.spans().rows())
        if (s.file == file()) s = {s.file, edit.moved(s.begin), edit.moved(s.end)};
    }
  }
  const ir::Module* read(Diagnostics& out) override {
    for (const source::Diagnostic& d : document.diagnostics().all()) out.add(d);
    const relay::Module* module = document.result().module;
    if (!module) return nullptr;
    if (context != document.context()) {
      typed = {};
      context = document.context();
    }
    if (!relay::infer_types(*context, module, typed, out)) return nullptr;
    const ir::Module* made = translated(ctx, *context, module, typed.typing, out);
    return made && ir::verify(ctx, made, out) ? made : nullptr;
  }
  bool check_well_formed() const override { return true; }
  frontend::ReadScope last_read() const override { return document.last_read(); }

  frontend::RelayDocument document;
  relay::TypingMemo typed;
  std::shared_ptr<relay::Context> context;  // of those types
};

std::unique_ptr<Program> Session::RelaxText::open_document(Session& session, std::string path,
                                                           std::shared_ptr<EditedText> edited, Diagnostics& out) {
  Diagnostics found;
  const ir::Module* module = edited->read(found);
  for (const source::Diagnostic& d : found.all()) out.add(d);
  if (!module && !found.has_errors()) out.add({edited->file(), 0, 0}, source::message(diag::NothingToLoad, path));
  if (!module) return nullptr;
  auto program = std::make_unique<RelaxText>(session, std::move(path), module, edited->check_well_formed());
  program->edited_ = std::move(edited);
  return program;
}

std::unique_ptr<Program> Session::RelaxText::read_document(Session& session, std::string path, std::string text,
                                                           Diagnostics& out) {
  return open_document(session, path, std::make_shared<EditedScript>(session, path, std::move(text)), out);
}

std::unique_ptr<Program> Session::RelaxText::translate_document(Session& session, std::string path, std::string text,
                                                                Diagnostics& out) {
  return open_document(session, path, std::make_shared<EditedRelay>(session, path, std::move(text)), out);
}

std::unique_ptr<Program> Session::RelaxText::edit(std::string_view text, Diagnostics& out, TextChange& change) {
  EditedText& edited = *edited_;
  edited.before = edited.now();
  const std::uint64_t before = edited.revision++;
  Diagnostics found;
  const ir::Module* module = nullptr;
  try {
    edited.update(text);
    module = edited.read(found);
  } catch (...) {
    edited.go_back();
    edited.revision = before;
    throw;
  }
  if (!module) {
    // The reader sees the text that has the errors; the program keeps its own.
    const source::FileId refused = session_.sources_.add(path_, std::string(text));
    for (const source::Diagnostic& d : found.all()) out.add(in_file(d, edited.file(), refused));
    if (!found.has_errors()) out.add({refused, 0, 0}, source::message(diag::NothingToLoad, path_));
    edited.go_back();
    edited.revision = before;
    return nullptr;
  }
  for (const source::Diagnostic& d : found.all()) out.add(d);
  note_read(edited.last_read(), change);
  auto program = std::make_unique<RelaxText>(session_, path_, module, edited.check_well_formed());
  program->edited_ = edited_;
  program->revision_ = edited.revision;
  return program;
}

source::FileId Session::RelaxText::file_of_document() const { return edited_->file(); }
bool Session::RelaxText::is_document_of_relay() const { return edited_ && edited_->is_relay(); }

void Session::RelaxText::undo_edit() noexcept {
  if (!edited_ || edited_->revision == revision_) return;
  try {
    if (edited_->before && edited_->revision == revision_ + 1) {
      edited_->go_back();
      edited_->revision = revision_;
      return;
    }
  } catch (...) {
    // The next edit reads the whole text.
  }
  edited_.reset();
}

}  // namespace rldb::session
