// The hint below an entry: signatures from the tables, types inferred by the front end from the visible values.
#include "ui/prompt/entry/hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "rldb/expression/language.h"
#include "rldb/frontend/parse.h"
#include "rldb/frontend/relay_entry.h"
#include "rldb/frontend/unfinished.h"
#include "rldb/ir/printer.h"
#include "rldb/ops/op_info.h"
#include "rldb/ui/prompt/command.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostText = std::size_t(1) << 14;  // longer entries are checked when they are entered

bool is_word_byte(char c) { return expression::is_name_byte(c) || c == '.'; }

std::string call_signature(const session::Session& session, std::string_view name) {
  if (name.starts_with("R."))
    if (const ops::OpInfo* op = ops::find(name.substr(2)))
      return fmt::format("R.{}({})  {}", op->short_name(), op->signature, op->doc);
  for (const expression::LanguageRow& row : expression::language_functions())
    if (row.name == name) return fmt::format("{}  {}", row.form.empty() ? row.name : row.form, row.doc);
  const ir::Expr* f = session.module() ? session.module()->find(name) : nullptr;
  return f && f->type ? fmt::format("{}: {}", name, ir::print_type(f->type)) : std::string();
}

std::string command_signature(std::string_view text, bool stopped) {
  const bool colon = text.starts_with(':');
  const std::string_view body = colon ? text.substr(1) : text;
  const std::string_view word = body.substr(0, std::min(body.find_first_of(" \t\n"), body.size()));
  const Command* c = word.empty() ? nullptr
                     : colon      ? find_command(word).command
                     : stopped    ? find_bare_verb(word)
                                  : nullptr;
  if (!c || (!colon && (word.size() == body.size() || !may_be_argument(trim(body.substr(word.size())))))) return {};
  return fmt::format("{}{}  {}", colon ? ":" : "", usage_of(*c), c->doc);
}

}  // namespace

bool may_be_argument(std::string_view rest) {
  if (rest.empty() || rest.starts_with("--")) return true;
  constexpr std::string_view kBeginnings = "@\"/*";
  const bool alone = rest.size() > 1 && std::isspace(static_cast<unsigned char>(rest[1]));
  const bool word = std::isalnum(static_cast<unsigned char>(rest[0])) || rest[0] == '_';
  return word || (kBeginnings.find(rest[0]) != std::string_view::npos && !alone);
}

struct HintMaker::Names {
  std::tuple<std::uint64_t, int, std::size_t, bool> at;
  std::vector<std::pair<std::string, runtime::Value>> values;
};

HintMaker::HintMaker(Repl& repl, std::shared_ptr<frontend::EntryTree> tree) : repl_(repl), tree_(std::move(tree)) {}
HintMaker::~HintMaker() = default;

// Of the frame: only values that are present, as a hint never executes anything again.
const HintMaker::Names& HintMaker::names() {
  const debug::Debugger& debugger = repl_.debugger();
  const std::tuple at{debugger.last_stop().time, repl_.frame(), repl_.entered().size(), debugger.active()};
  if (names_ && names_->at == at) return *names_;
  names_ = std::make_unique<Names>();
  names_->at = at;
  if (!debugger.active()) return *names_;
  for (const debug::SlotInfo& slot : debugger.heap(repl_.frame()))
    if (slot.set) names_->values.emplace_back(slot.expression, runtime::Value::of_int(slot.value));
  for (const debug::LocalInfo& local : debugger.locals(repl_.frame()))
    if (local.live) names_->values.emplace_back(local.name, local.value);
  return *names_;
}

namespace {

bool is_mentioned(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Functions of the module have types from another context.
bool mentions_function(const ir::Module* module, std::string_view text) {
  const std::vector<std::string_view> names = expression::names_in(text);
  return module && std::any_of(module->entries.begin(), module->entries.end(),
                               [&](const ir::ModuleEntry& entry) { return is_mentioned(names, entry.name); });
}

// A word still being typed, an operator whose operand is missing: not an error yet.
bool is_unfinished(std::string_view text, std::size_t cursor) {
  constexpr std::string_view kOperators = "=+-*/%@<>|&^~!";
  if (cursor > 0 && cursor <= text.size() && is_word_byte(text[cursor - 1])) return true;
  const std::string_view typed = trim(text);
  return !typed.empty() && kOperators.find(typed.back()) != std::string_view::npos;
}

// The first error that more text cannot fix. In an entry with an open bracket: one before or after that bracket,
// because the call that it belongs to may only lack its remaining arguments.
const source::Diagnostic* lasting(const source::Diagnostics& found, const std::optional<frontend::ClosedEntry>& open) {
  for (const source::Diagnostic& d : found.all()) {
    if (d.severity != source::Severity::Error) continue;
    if (!open || d.span.begin > open->innermost || d.span.end <= open->innermost) return &d;
  }
  return nullptr;
}

}  // namespace

frontend::Environment HintMaker::values_of(std::string_view text, ir::Context& context) {
  frontend::Environment env;
  const std::vector<std::string_view> mentioned = expression::names_in(text);
  const auto add = [&](std::string_view name, const runtime::Value& value) {
    env.values.push_back({name, context.var(name, session::type_of_value(context, value))});
  };
  for (const std::string_view name : mentioned)
    if (const runtime::Value* value = repl_.session().find_value(name)) add(name, *value);
  for (const auto& [name, value] : names().values)
    if (is_mentioned(mentioned, name)) add(name, value);
  return env;
}

// An entry with open brackets is parsed as if they were closed at its end.
void HintMaker::add_type(std::string_view text, std::size_t cursor, std::vector<HintLine>& out) {
  if (text.size() > kMostText || mentions_function(repl_.session().module(), text)) return;
  std::optional<frontend::ClosedEntry> open;
  if (tree_->completeness(text) == frontend::Completeness::Incomplete) {
    open = tree_->close_brackets(text);
    if (!open) return;
  }
  ir::Context context;
  ops::install(context);
  source::SourceManager sources;
  source::Diagnostics found;
  const frontend::Environment env = values_of(text, context);
  const source::FileId file = sources.add("<entry>", open ? open->text : std::string(text));
  const frontend::ParseResult parsed = frontend::parse_input(context, sources, file, env, found);
  if (parsed.ok && !parsed.items.empty()) {
    const frontend::ParsedItem& last = parsed.items.back();
    const ir::Type* type = last.var ? last.var->type : last.value ? last.value->type : nullptr;
    if (type) out.push_back({(open ? "type so far: " : "type: ") + ir::print_type(type), HintLine::Kind::Type});
    return;
  }
  source::Diagnostics ignored;  // the debugger's language may accept it
  if (is_unfinished(text, cursor) || expression::is_expression(open ? std::string_view(open->text) : text, ignored))
    return;
  if (const source::Diagnostic* d = lasting(found, open)) out.push_back({d->message, HintLine::Kind::Problem});
}

// At an empty line of an entry that does not end.
std::string HintMaker::open_bracket(std::string_view text, std::size_t cursor) const {
  const std::size_t line = text.rfind('\n', cursor == 0 ? 0 : cursor - 1);
  if (line == std::string_view::npos || !trim(text.substr(line)).empty()) return {};
  const auto closed = tree_->close_brackets(text);
  if (!closed) return {};
  const auto above = std::count(text.begin(), text.begin() + std::ptrdiff_t(closed->innermost), '\n');
  return fmt::format("`{}` in line {} is not closed; two empty lines end the entry", text[closed->innermost],
                     above + 1);
}

std::vector<HintLine> HintMaker::hints(std::string_view text, std::size_t cursor) {
  std::vector<HintLine> out;
  if (trim(text).empty() || text.front() == '!' || text.front() == '#') return out;
  if (frontend::begins_relay(text)) return out;
  if (std::string open = open_bracket(text, cursor); !open.empty()) return {{std::move(open), HintLine::Kind::Problem}};
  std::string first = command_signature(text, repl_.debugger().active());
  const bool command = !first.empty() || text.front() == ':' || text.front() == '?';
  if (const std::string_view call = tree_->open_call(text, cursor).name; !call.empty())
    if (std::string signature = call_signature(repl_.session(), call); !signature.empty()) first = std::move(signature);
  if (!first.empty()) out.push_back({std::move(first), HintLine::Kind::Signature});
  const bool loop = text.starts_with("for ");  // over entries, each of which has a type of its own
  if (!command && !loop && !text.starts_with('@')) add_type(text, cursor, out);
  return out;
}

}  // namespace rldb::ui
