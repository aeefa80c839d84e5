// Repl: classifies entries: a command with its colon, a verb without one, a word of `:define`, `?name`, `!shell`, or
// TVMScript.
#include <algorithm>
#include <cctype>

#include "rldb/expression/language.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/ir/walk.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/entry/frame_scope.h"

namespace rldb::ui {

namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

// `n + 1`, `b == c`: an operator followed by a blank is not an argument of a verb.
bool begins_with_operator(std::string_view rest) {
  constexpr std::string_view kOperators[] = {"+",  "-",  "*",  "/",  "//", "%", "**", "@",  "<", ">",
                                             "<=", ">=", "==", "!=", "&",  "|", "^",  "<<", ">>"};
  const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \t"), rest.size()));
  return word.size() < rest.size() &&
         std::find(std::begin(kOperators), std::end(kOperators), word) != std::end(kOperators);
}

// `R.add?`, `:break?`, as in IPython.
bool asks_for_help(std::string_view entry) {
  if (!entry.ends_with('?') || entry.size() < 2) return false;
  const std::string_view name = entry.substr(entry.front() == ':' ? 1 : 0, entry.find('?') - (entry.front() == ':'));
  return !name.empty() && entry.find_first_not_of('?', entry.find('?')) == std::string_view::npos &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return expression::is_name_byte(c) || c == '.' || c == '-'; });
}

bool is_assignment(std::string_view rest) {
  return (rest.starts_with("=") && !rest.starts_with("==")) || rest.starts_with(":");
}

}  // namespace

namespace {

// A variable of the selected frame that has got a value, whether its register still holds it or not, or a symbol;
// before that its letter is still the verb.
bool has_value_in_frame(Repl& repl, std::string_view name) {
  const debug::Debugger& debugger = repl.debugger();
  if (!debugger.active() || name.empty()) return false;
  for (const debug::LocalInfo& local : debugger.locals(repl.frame()))
    if (local.name == name) return true;
  for (const debug::SlotInfo& slot : debugger.heap(repl.frame()))
    if (slot.expression == name && slot.set) return true;
  return false;
}

// Whether the function of the selected frame binds that name somewhere.
bool is_bound_in_function(Repl& repl, std::string_view name) {
  const ir::Module* module = repl.debugger().written_module();
  const ir::Expr* function = module ? module->find(repl.debugger().function_position(repl.frame()).function) : nullptr;
  bool found = false;
  if (function)
    ir::walk(function, [&](const ir::Node* n) {
      const auto* binding = ir::as<ir::Binding>(n);
      found = found || (binding && binding->var->name == name);
      return !found;
    });
  return found;
}

}  // namespace

// Does the name have a value now: in the frame, the session, or the module?
bool Repl::is_value_name(std::string_view name) const {
  if (session_->find_value(name)) return true;
  if (session_->module() && session_->module()->find(name)) return true;
  return !frame_name_kind(const_cast<Repl&>(*this), name).empty();
}

// Nothing is stopped: a name of the run that has finished, or one whose value a run of its function would show.
bool Repl::is_name_of_program(std::string_view name) const {
  if (debugger_->active()) return false;
  if (!functions_that_bind(session_->module(), name).empty()) return true;
  if (!debugger_->finished()) return false;
  const std::vector<debug::LocalInfo> locals = debugger_->locals(0);
  if (std::any_of(locals.begin(), locals.end(), [&](const debug::LocalInfo& l) { return l.name == name; })) return true;
  const std::vector<debug::SlotInfo> heap = debugger_->heap(0);
  return std::any_of(heap.begin(), heap.end(), [&](const debug::SlotInfo& s) { return s.set && s.expression == name; });
}

// A name that an entry has just failed to bind, and a command: the user means the name, and the command may end the
// session. Without a command: neither.
Repl::Target Repl::unbound_target(std::string_view word) const {
  const std::string_view entry = failed_names_.entry_of(word);
  if (entry.empty() || is_value_name(word)) return {Target::Kind::Script};
  const Command* verb = debugger_->active() ? find_bare_verb(word) : nullptr;
  return {Target::Kind::Unbound, verb ? verb : find_command_named(word), entry, word};
}

// gdb's verbs win at a stop, unless the line is an assignment, an expression on a variable of that name, or the name of
// a variable of the frame alone: whoever types `q` to see a tensor must not lose the session, nor whoever does so
// before a run, or behind its end. Elsewhere, and for the other commands, a line is a command when it cannot be
// TVMScript.
Repl::Target Repl::bare_target(std::string_view entry, std::string_view word, std::string_view rest) const {
  using Kind = Target::Kind;
  const Target script{Kind::Script, nullptr, entry, {}};
  if (frontend::begins_relay(entry)) return script;
  const std::string_view behind = entry.substr(word.size());
  // `print/x n` has its format attached to the word; `p/x` alone is a quotient.
  const bool formatted = rest.starts_with("/") && rest.size() > 2 && is_blank(rest[2]);
  const bool wordlike = behind.empty() || is_blank(behind[0]) || formatted;
  if (word.empty() || !wordlike || is_assignment(rest) || begins_with_operator(rest)) return script;
  const bool shows = rest.empty() && has_value_in_frame(const_cast<Repl&>(*this), word);
  if (const Target unbound = unbound_target(word); rest.empty() && !shows && unbound.command) return unbound;
  if (const Command* verb = find_bare_verb(word); verb && debugger_->active() && !shows)
    return {Kind::Command, verb,  rest,
            word,          false, rest.empty() && is_bound_in_function(const_cast<Repl&>(*this), word)};
  // Nor is `why (a + b)[1]` a call, of what has finished; and `print [1, 2]` no element of a value that does not exist.
  const bool bracket = (debugger_->finished() && rest.starts_with('(')) || rest.starts_with('[');
  if (const Command* verb = find_bare_verb(word);
      verb && bracket && is_blank(behind[0]) && !is_value_name(word) && !is_name_of_program(word))
    return {Kind::Command, verb, rest, word};
  // `commands 2` has lines of its own; every other command is on one line.
  const std::string_view line = entry.substr(0, entry.find('\n'));
  if (is_value_name(word) || (rest.empty() && find_bare_verb(word) && is_name_of_program(word))) return script;
  // `print -1`, `print @x.npy`: the word, which is no value, is no operand. (`n - 1` is a difference.)
  const bool attached = rest.size() > 1 && rest[1] != ' ' && rest.find_first_of("-+~@") == 0;
  const bool signed_argument = attached && find_bare_verb(word);
  const Command* named = find_command_named(word);
  // `save-run /tmp/a` is a difference only where `save` is a value.
  const std::size_t minus = word.find('-');
  const bool compound = named && minus != std::string_view::npos && !is_value_name(word.substr(0, minus));
  if (!rest.empty() && !compound && !signed_argument && frontend::is_syntax(line)) return script;
  if (named && (line.size() == entry.size() || (named->flags & kBlock))) return {Kind::Command, named, rest, word};
  if (line.size() != entry.size()) return script;
  if (const std::string_view near = nearest_command(word); !near.empty()) return {Kind::Misspelt, nullptr, near, word};
  return script;
}

std::string Repl::without_alias(std::string_view entry, debug::Author& author) const {
  const bool colon = entry.starts_with(':');
  std::size_t end = colon ? 1 : 0;
  while (end < entry.size() && expression::is_name_byte(entry[end])) ++end;
  const std::string_view word = entry.substr(colon ? 1 : 0, end - (colon ? 1 : 0));
  const auto known = aliases.find(word);
  const std::string_view rest = entry.substr(end);
  if (known == aliases.end() || (!rest.empty() && !is_blank(rest[0])) || is_assignment(trim(rest)))
    return std::string(entry);
  if (author.is_user()) author = known->second.author;
  return known->second.text + std::string(rest);
}

Repl::Target Repl::target_of(std::string_view entry) const {
  using Kind = Target::Kind;
  const Command* const help = find_command("help").command;
  if (entry.front() == '!') return {Kind::Shell, nullptr, trim(entry.substr(1)), {}};
  if (entry.front() == '?') return {Kind::Command, help, trim(entry.substr(1)), {}};
  // Behind a name without a colon the mark stays: it asks for what the name means now (command_Help).
  if (asks_for_help(entry))
    return {Kind::Command, help, entry.substr(0, entry.find('?') + (entry.front() == ':' ? 0 : 1)), {}};
  const bool colon = entry.front() == ':';
  const std::string_view body = colon ? trim(entry.substr(1)) : entry;
  std::size_t end = 0;
  while (end < body.size() &&
         (std::isalnum(static_cast<unsigned char>(body[end])) || body[end] == '-' || body[end] == '_'))
    ++end;
  const std::string_view word = body.substr(0, end);
  const bool forced = colon && end > 0 && end < body.size() && body[end] == '!';
  const std::string_view rest = trim(body.substr(end + (forced ? 1 : 0)));

  if (const auto own = defined.find(word); own != defined.end() && !is_assignment(rest)) {
    const std::string_view behind = body.substr(end);
    if (behind.empty() || is_blank(behind[0])) return {Kind::Defined, nullptr, rest, own->first};
  }
  if (!colon) return bare_target(entry, word, rest);
  if (word.empty() && !body.empty() && body.front() == '?') return {Kind::Command, help, trim(body.substr(1)), {}};
  const Command* found = word.empty() ? nullptr : find_command(word).command;
  if (found) return {Kind::Command, found, rest, word, forced};
  return {Kind::Unknown, nullptr, rest, word.empty() ? body : word};
}

}  // namespace rldb::ui
