// Relay text that is edited: its document, the types that its module keeps, and going back to the text before an edit.
#include "rldb/frontend/relay_document.h"

#include "rldb/relay/ops/typing_memo.h"
#include "rldb/session/relay_text.h"
#include "rldb/session/session.h"
#include "session/program/edited_text.h"

namespace rldb::session {

struct RelayText::EditedText {
  EditedText(Session& session, std::string path, std::string text)
      : document(session.sources(), std::move(path), std::move(text)) {}

  frontend::RelayDocument document;
  relay::TypingMemo typed;
  std::shared_ptr<relay::Context> context;  // of those types
  std::uint64_t revision = 0;
  // Before the last edit. An edit moves the places of nodes that the program still has; of a part that it removed
  // nothing else knows them.
  struct Before {
    std::string text;
    std::shared_ptr<relay::Context> context;
    std::vector<source::Span> places;  // by id
  };
  std::optional<Before> before;

  Before now() const;
  void go_back();
  bool read(Diagnostics& out);
  std::shared_ptr<RelaySource> source() const;
};

namespace {

// Calls `f` with something that has the id of each expression: places are asked for by it.
template <class F>
void for_each_id(const relay::Context& ctx, std::size_t end, F&& f) {
  relay::Expr any{relay::ExprKind::Var};
  for (any.id = 0; any.id < std::min<std::size_t>(end, ctx.expr_count()); ++any.id) f(any);
}

}  // namespace

RelayText::EditedText::Before RelayText::EditedText::now() const {
  Before b{std::string(document.text()), document.context(), {}};
  for_each_id(*b.context, b.context->expr_count(),
              [&](const relay::Expr& any) { b.places.push_back(b.context->span(&any)); });
  return b;
}

void RelayText::EditedText::go_back() {
  const Before to = std::move(*before);
  before.reset();
  document.update(to.text);
  for_each_id(*to.context, to.places.size(), [&](const relay::Expr& any) {
    if (to.places[any.id].file == document.file()) to.context->set_span(&any, to.places[any.id]);
  });
}

// A lone expression is not typed, as in TVM. False: the text has errors.
bool RelayText::EditedText::read(Diagnostics& out) {
  for (const source::Diagnostic& d : document.diagnostics().all()) out.add(d);
  const relay::Module* module = document.result().module;
  if (!module) return false;
  if (context != document.context()) {
    typed = {};
    context = document.context();
  }
  return module->functions.empty() || relay::infer_types(*context, module, typed, out);
}

std::shared_ptr<RelaySource> RelayText::EditedText::source() const {
  auto made = std::make_shared<RelaySource>(document.context());
  made->file = document.file();
  made->typing = typed.typing;
  made->names = document.result().graph_names;
  return made;
}

std::unique_ptr<RelayText> RelayText::read_document(Session& session, std::string path, std::string text,
                                                    Diagnostics& out) {
  auto edited = std::make_shared<EditedText>(session, path, std::move(text));
  if (!edited->read(out)) return nullptr;
  const relay::Module* module = edited->document.result().module;
  std::unique_ptr<RelayText> program(new RelayText(session, std::move(path), edited->source(), module));
  program->edited_ = std::move(edited);
  return program;
}

std::unique_ptr<Program> RelayText::edit(std::string_view text, Diagnostics& out, TextChange& change) {
  EditedText& edited = *edited_;
  edited.before = edited.now();
  const std::uint64_t before = edited.revision++;
  Diagnostics found;
  bool good = false;
  try {
    edited.document.update(text);
    good = edited.read(found);
  } catch (...) {
    edited.go_back();
    edited.revision = before;
    throw;
  }
  if (!good) {
    // The reader sees the text that has the errors; the program keeps its own.
    const source::FileId refused = session_.sources().add(path_, std::string(text));
    for (const source::Diagnostic& d : found.all()) out.add(in_file(d, edited.document.file(), refused));
    edited.go_back();
    edited.revision = before;
    return nullptr;
  }
  for (const source::Diagnostic& d : found.all()) out.add(d);
  note_read(edited.document.last_read(), change);
  const relay::Module* module = edited.document.result().module;
  std::unique_ptr<RelayText> program(new RelayText(session_, path_, edited.source(), module));
  program->edited_ = edited_;
  program->revision_ = edited.revision;
  return program;
}

std::string_view RelayText::text() const { return session_.sources().get(source_->file).text(); }

RelayEntered::~RelayEntered() {
  while (before && before.use_count() == 1) before = std::exchange(before->before, nullptr);
}

void RelayText::note_entered(std::vector<std::string> names, std::string_view before,
                             std::shared_ptr<RelayEntered> earlier, std::size_t earlier_at) {
  auto entered = std::make_shared<RelayEntered>();
  entered->names = std::move(names);
  for (const frontend::TextReplacement& e : frontend::edits_between(text(), before))
    entered->back.push_back({e.begin, e.end, std::string(e.text)});
  entered->before = std::move(earlier);
  entered->version_before = earlier_at;
  set_entered(std::move(entered), position());
}

std::string RelayText::text_before_entered() const {
  std::string made(text());
  for (auto piece = entered_->back.rbegin(); piece != entered_->back.rend(); ++piece)
    made.replace(piece->begin, piece->end - piece->begin, piece->text);
  return made;
}

void RelayText::undo_edit() noexcept {
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
