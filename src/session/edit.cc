// Edits of the program's text: read in part, with the passes applied again.
#include <algorithm>
#include <utility>

#include "rldb/bytecode/serialise.h"
#include "rldb/frontend/relay.h"
#include "rldb/onnx/model.h"
#include "rldb/relay/vm/executable.h"
#include "rldb/session/relay_text.h"
#include "rldb/session/session.h"
#include "rldb/source/diagnostic_program.h"
#include "session/program/edited_text.h"
#include "session/program/program_file.h"
#include "session/program/relax_text.h"

namespace rldb::session {

namespace {

// The passes that led to the current version.
std::vector<pipeline::Invocation> passes_applied(const Program& program, std::size_t& hand_made) {
  std::vector<pipeline::Invocation> passes;
  for (std::size_t v = 1; v <= program.position(); ++v) {
    if (program.history().is_edit(v))
      ++hand_made;
    else
      passes.push_back(program.history().record(v).pass);
  }
  return passes;
}

void carry_bookmarks(const Program& from, Program& to) {
  const std::size_t now = to.position();
  for (const auto& [name, version] : from.bookmarks())
    if (to.go_to(version)) to.add_bookmark(name);
  to.go_to(now);
}

// Keeps the document of a text that is read as a new one, as its program had one.
struct Keeping {
  Keeping(bool& option, bool on) : option(option), was(std::exchange(option, option || on)) {}
  ~Keeping() { option = was; }
  bool& option;
  bool was;
};

}  // namespace

void Session::apply_again(const Program& before, Diagnostics& out, TextChange& change) {
  std::vector<pipeline::Invocation> passes = passes_applied(before, change.hand_made);
  for (const pipeline::Invocation& pass : passes) {
    if (!program_->run_passes(std::vector<pipeline::Invocation>{pass}, out)) break;
    change.passes.push_back(pipeline::to_string(pass));
  }
  carry_bookmarks(before, *program_);
}

bool Session::edit_text(std::string text, Diagnostics& out, TextChange* change) {
  TextChange own;
  TextChange& c = change ? *change : own;
  c = {};
  const std::unique_ptr<Program> before = program_ ? program_->copy() : nullptr;
  if (!before || before->path().empty()) {
    out.add({}, source::message(diag::NoProgram));
    return false;
  }
  RelaxText* const relax_text = relax();
  RelayText* const relay = relay_text(program_.get());
  const bool is_relay = frontend::is_relay(before->path(), text);
  const bool stays_relax = relax_text && relax_text->has_document() && is_relay == relax_text->is_document_of_relay() &&
                           (!is_relay || options_.machine == Machine::Relax);
  const bool stays_relay = relay && relay->has_document() && is_relay && options_.machine == Machine::Relay;
  const bool stays = stays_relax || stays_relay;
  if (stays) {
    const source::FileId file = stays_relax ? relax_text->file_of_document() : relay->source().file;
    c.shifts = line_shifts(sources_.get(file), text);
  }
  if (stays && options_.keep_document) {
    auto edited = stays_relax ? relax_text->edit(text, out, c) : relay->edit(text, out, c);
    if (!edited) return false;
    set_program(std::move(edited));
  } else {
    const Keeping keeping(options_.keep_document, stays);
    if (!load_text(before->path(), std::move(text), out)) return false;
  }
  c.same_kind = program_->kind() == before->kind();
  if (!c.same_kind) return true;
  apply_again(*before, out, c);
  c.changed = program_->changed_between(before->history().current(), program_->history().current());
  return true;
}

bool Session::reload(Diagnostics& out, TextChange* change) {
  const std::string path = program_path();
  if (path.empty()) {
    out.add({}, source::message(diag::NoProgram));
    return false;
  }
  std::string bytes;
  if (!read_program_file(path, bytes, out)) return false;
  if (onnx::is_model(path, bytes) || bytecode::is_executable_file(bytes) || relay_bytecode::is_executable_file(bytes))
    return load_file(path, out);
  return edit_text(std::move(bytes), out, change);
}

}  // namespace rldb::session
