// The frame's names in text entered at a stop.
#include "ui/prompt/entry/frame_scope.h"

#include <algorithm>
#include <cctype>

#include "rldb/expression/language.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

namespace {

// Prefixes of TVMScript, and words that are never variables of a program.
bool is_reserved(std::string_view word) { return word == "R" || word == "T" || word == "I" || word == "_"; }

}  // namespace

bool is_one_name(std::string_view text) {
  if (text.starts_with('$')) text.remove_prefix(1);  // a variable of the session
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), expression::is_name_byte);
}

FrameScope::FrameScope(Repl& repl, std::string_view text) : repl_(repl), before_(repl.session().values()) {
  if (!repl.debugger().active()) return;
  for (const std::string_view word : expression::names_in(text)) {
    if (is_reserved(word)) continue;
    source::Diagnostics ignored;  // a name without a value here may be one defined by the text
    std::vector<std::string> notes;
    auto value = repl.debugger().evaluate(word, repl.frame(), ignored, &notes);
    if (!value || value->is_null()) continue;
    notes_.insert(notes_.end(), notes.begin(), notes.end());
    lent_.emplace_back(word);
    repl.session().set_value(std::string(word), std::move(*value));
  }
}

void FrameScope::close(const std::vector<std::string>& defined) {
  if (lent_.empty()) return;
  session::Session::Snapshot after = repl_.session().snapshot();
  for (const std::string& name : lent_) {
    if (std::find(defined.begin(), defined.end(), name) != defined.end()) continue;
    if (const session::NamedValue* known = before_.find(name))
      after.values.put(*known);
    else
      after.values.erase(name);
  }
  repl_.session().restore(std::move(after));
  lent_.clear();
}

std::string_view frame_name_kind(Repl& repl, std::string_view name) {
  if (!repl.debugger().active() || name.empty()) return {};
  for (const debug::LocalInfo& local : repl.debugger().locals(repl.frame()))
    if (local.name == name) return "local";
  for (const debug::SlotInfo& slot : repl.debugger().heap(repl.frame()))
    if (slot.expression == name) return "symbol";
  return {};
}

std::optional<Assignment> split_assignment(std::string_view text) {
  if (text.find('\n') != std::string_view::npos) return std::nullopt;
  std::size_t end = text.starts_with('$') ? 1 : 0;
  while (end < text.size() && expression::is_name_byte(text[end])) ++end;
  Assignment a;
  a.name = text.substr(0, end);
  if (!is_one_name(a.name)) return std::nullopt;
  int depth = 0;
  for (; end < text.size(); ++end) {
    const char c = text[end];
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth == 0 && c == '=') break;
    if (depth == 0 && c != ']' && !std::isspace(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (end >= text.size() || text.substr(end).starts_with("==")) return std::nullopt;
  a.target = trim(text.substr(0, end));
  a.expression = trim(text.substr(end + 1));
  return a.expression.empty() ? std::nullopt : std::optional(a);
}

}  // namespace rldb::ui
