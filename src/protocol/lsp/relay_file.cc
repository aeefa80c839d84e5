// Relay text: its types, kept through edits, and by place when they are asked for.
#include "protocol/lsp/relay_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rldb/frontend/relay_document.h"
#include "rldb/relay/ops/typing_memo.h"
#include "rldb/support/cancel.h"

namespace rldb::protocol::lsp {

using frontend::TextRange;

struct RelayFile::State {
  source::SourceManager sources;
  frontend::RelayDocument document;
  std::shared_ptr<relay::Context> context;  // of the types
  relay::TypingMemo typed;
  source::Diagnostics diagnostics;
  struct Typed {
    TextRange at;
    const relay::Type* type;
  };
  std::vector<Typed> types;  // by place, outer ones first
  bool types_follow = false;

  State(std::string name, std::string text) : document(sources, std::move(name), std::move(text)) {}
  const relay::Module* module() const { return document.result().module; }
  void follow();
  const std::vector<Typed>& types_by_place();
  void note_types(const relay::Expr* root, std::vector<bool>& seen);
};

void RelayFile::State::follow() {
  types_follow = false;
  diagnostics.clear();
  for (const source::Diagnostic& d : document.diagnostics().all()) diagnostics.add(d);
  if (!module() || module()->functions.empty()) return;
  if (context != document.context()) {
    typed = {};
    context = document.context();
  }
  // Everything that could be typed is kept for hovers.
  (void)relay::infer_types(*context, module(), typed, diagnostics);
}

const std::vector<RelayFile::State::Typed>& RelayFile::State::types_by_place() {
  if (types_follow) return types;
  types_follow = true;
  types.clear();
  if (!module() || context != document.context()) return types;
  std::vector<bool> seen(context->expr_count());
  for (const relay::Definition& d : module()->functions) note_types(d.function, seen);
  std::stable_sort(types.begin(), types.end(), [](const Typed& a, const Typed& b) {
    return a.at.begin != b.at.begin ? a.at.begin < b.at.begin : a.at.end > b.at.end;
  });
  return types;
}

void RelayFile::State::note_types(const relay::Expr* root, std::vector<bool>& seen) {
  const auto note = [&](const relay::Expr* e) {
    // One node stands for all uses of such a name.
    const bool shared = relay::as<relay::Op>(e) || relay::as<relay::GlobalVar>(e) || relay::as<relay::Constructor>(e);
    if (shared) return;
    const source::Span at = context->span(e);
    if (const relay::Type* type = typed.typing.of(e); type && at.file == document.file())
      types.push_back({{at.begin, at.end}, type});
  };
  std::vector<const relay::Expr*> todo{root};
  while (!todo.empty()) {
    support::poll();
    const relay::Expr* e = todo.back();
    todo.pop_back();
    if (e->id < seen.size() && seen[e->id]) continue;
    if (e->id < seen.size()) seen[e->id] = true;
    note(e);
    if (const auto* f = relay::as<relay::Function>(e))
      for (const relay::Var* p : f->params) note(p);
    if (const auto* let = relay::as<relay::Let>(e)) note(let->var);
    relay::for_each_operand(e, [&](const relay::Expr* operand) { todo.push_back(operand); });
  }
}

RelayFile::RelayFile(std::string name, std::string text)
    : state_(std::make_unique<State>(std::move(name), std::move(text))) {
  state_->follow();
}

RelayFile::~RelayFile() = default;

bool RelayFile::edit(std::uint32_t begin, std::uint32_t end, std::string_view text) {
  const bool good = state_->document.edit(begin, end, text);
  if (good) state_->follow();
  return good;
}

void RelayFile::replace(std::string_view text) {
  state_->document.update(text);
  state_->follow();
}

const source::Buffer& RelayFile::buffer() const { return state_->sources.get(file()); }
source::FileId RelayFile::file() const { return state_->document.file(); }
const source::Diagnostics& RelayFile::diagnostics() const { return state_->diagnostics; }
frontend::TextIndex RelayFile::index() const { return state_->document.index(); }

std::string RelayFile::type_around(std::uint32_t offset) const {
  const relay::Type* best = nullptr;
  std::uint32_t width = ~std::uint32_t(0);
  for (const State::Typed& t : state_->types_by_place())
    if (t.at.touches(offset) && t.at.end - t.at.begin < width) {
      best = t.type;
      width = t.at.end - t.at.begin;
    }
  return best ? relay::print_type(best) : std::string();
}

std::string RelayFile::type_at(TextRange exactly) const {
  const std::vector<State::Typed>& types = state_->types_by_place();
  auto at = std::lower_bound(types.begin(), types.end(), exactly.begin,
                             [](const State::Typed& t, std::uint32_t offset) { return t.at.begin < offset; });
  for (; at != types.end() && at->at.begin == exactly.begin; ++at)
    if (at->at == exactly) return relay::print_type(at->type);
  return {};
}

std::string RelayFile::signature_of(std::string_view function) const {
  const relay::Function* f = state_->module() ? state_->module()->find(function) : nullptr;
  if (!f) return {};
  std::string params;
  for (const relay::Var* p : f->params) {
    const relay::Type* type = p->annotation ? p->annotation : state_->typed.typing.of(p);
    params += fmt::format("{}%{}{}", params.empty() ? "" : ", ", p->name, type ? ": " + relay::print_type(type) : "");
  }
  const relay::Type* result = f->result ? f->result : state_->typed.typing.of(f->body);
  return fmt::format("({}){}", params, result ? " -> " + relay::print_type(result) : "");
}

std::string relay_operator_text(std::string_view name) {
  const relay::OpInfo* op = relay::find_op(name);
  if (!op) return {};
  return op->operands < 0 ? fmt::format("{}(...)", op->name)
                          : fmt::format("{}: {} operand{}", op->name, op->operands, op->operands == 1 ? "" : "s");
}

}  // namespace rldb::protocol::lsp
