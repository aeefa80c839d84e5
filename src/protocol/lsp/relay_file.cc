// Relay text: its types by place.
#include "protocol/lsp/relay_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/support/cancel.h"

namespace rldb::protocol::lsp {

using frontend::TextRange;

struct RelayFile::State {
  std::string name;
  source::SourceManager sources;
  source::FileId file;
  std::unique_ptr<relay::Context> context;
  frontend::RelayResult parsed;
  relay::Typing typing;
  source::Diagnostics diagnostics;
  struct Typed {
    TextRange at;
    const relay::Type* type;
  };
  std::vector<Typed> types;  // by place, outer ones first

  void read();
  void note_types(const relay::Expr* root, std::vector<bool>& seen);
};

void RelayFile::State::read() {
  diagnostics.clear();
  types.clear();
  typing = {};
  parsed = {};
  context = std::make_unique<relay::Context>();
  parsed = frontend::parse_relay_program(*context, sources, file, diagnostics);
  if (!parsed.module || parsed.module->functions.empty()) return;
  // Everything that could be typed is kept for hovers.
  (void)relay::infer_types(*context, parsed.module, typing, diagnostics);
  std::vector<bool> seen(context->expr_count());
  for (const relay::Definition& d : parsed.module->functions) note_types(d.function, seen);
  std::stable_sort(types.begin(), types.end(), [](const Typed& a, const Typed& b) {
    return a.at.begin != b.at.begin ? a.at.begin < b.at.begin : a.at.end > b.at.end;
  });
}

void RelayFile::State::note_types(const relay::Expr* root, std::vector<bool>& seen) {
  const auto note = [&](const relay::Expr* e) {
    const source::Span at = context->span(e);
    if (const relay::Type* type = typing.of(e); type && at.file == file) types.push_back({{at.begin, at.end}, type});
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

RelayFile::RelayFile(std::string name, std::string text) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  state_->file = state_->sources.add(state_->name, std::move(text));
  state_->read();
}

RelayFile::~RelayFile() = default;

void RelayFile::replace(std::string text) {
  // The prelude that a reading may add to the sources goes with them.
  state_->sources = source::SourceManager();
  state_->file = state_->sources.add(state_->name, std::move(text));
  state_->read();
}

const source::Buffer& RelayFile::buffer() const { return state_->sources.get(state_->file); }
source::FileId RelayFile::file() const { return state_->file; }
const source::Diagnostics& RelayFile::diagnostics() const { return state_->diagnostics; }
frontend::TextIndex RelayFile::index() const { return frontend::TextIndex::of_relay(buffer().text()); }

std::string RelayFile::type_around(std::uint32_t offset) const {
  const relay::Type* best = nullptr;
  std::uint32_t width = ~std::uint32_t(0);
  for (const State::Typed& t : state_->types)
    if (t.at.touches(offset) && t.at.end - t.at.begin < width) {
      best = t.type;
      width = t.at.end - t.at.begin;
    }
  return best ? relay::print_type(best) : std::string();
}

std::string RelayFile::type_at(TextRange exactly) const {
  for (const State::Typed& t : state_->types)
    if (t.at == exactly) return relay::print_type(t.type);
  return {};
}

std::string RelayFile::signature_of(std::string_view function) const {
  const relay::Function* f = state_->parsed.module ? state_->parsed.module->find(function) : nullptr;
  if (!f) return {};
  std::string params;
  for (const relay::Var* p : f->params) {
    const relay::Type* type = p->annotation ? p->annotation : state_->typing.of(p);
    params += fmt::format("{}%{}{}", params.empty() ? "" : ", ", p->name, type ? ": " + relay::print_type(type) : "");
  }
  const relay::Type* result = f->result ? f->result : state_->typing.of(f->body);
  return fmt::format("({}){}", params, result ? " -> " + relay::print_type(result) : "");
}

std::string relay_operator_text(std::string_view name) {
  const relay::OpInfo* op = relay::find_op(name);
  if (!op) return {};
  return op->operands < 0 ? fmt::format("{}(...)", op->name)
                          : fmt::format("{}: {} operand{}", op->name, op->operands, op->operands == 1 ? "" : "s");
}

}  // namespace rldb::protocol::lsp
