// Commands about the session itself: help, options, scripts.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/session_page.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/page.h"
#include "rldb/ui/terminal/key_bindings.h"
#include "ui/prompt/commands/command_docs.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/commands/help_search.h"
#include "ui/prompt/commands/help_text.h"
#include "ui/prompt/commands/info_topic.h"
#include "ui/prompt/commands/kernel_source.h"
#include "ui/prompt/list_text.h"
#include "ui/prompt/start_files.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

std::string_view title(CommandGroup group) {
  switch (group) {
    case CommandGroup::Module:
      return "module";
    case CommandGroup::Passes:
      return "passes";
    case CommandGroup::Run:
      return "run";
    case CommandGroup::Debug:
      return "debug (bare while stopped)";
    case CommandGroup::Session:
      return "session";
  }
  return "";
}

void list_commands(Repl& repl) {
  print_item(repl, "",
             "TVMScript is entered as it is: a module, a function, a binding, an expression. Commands start with a "
             "colon:");
  std::optional<CommandGroup> group;
  for (const Command& c : commands()) {
    if (group != c.group) repl.print("\n{}\n", title(c.group));
    group = c.group;
    print_item(repl, fmt::format("  :{:<18} ", c.name), c.doc);
  }
  repl.print("\n");
  print_item(repl, "", "`:help NAME` explains a command, a pass or an operator; `:help keys` lists the keys.");
  print_item(repl, "", "An empty line repeats the last step.");
  print_item(repl, "", "`:tour` is a five-minute introduction. Topics, with examples:");
  for (const HelpSession& session : help_sessions())
    print_item(repl, fmt::format("  :help {:<13} ", session.name), title_of(session));
}

void help_command(Repl& repl, const Command& c) {
  repl.print(":{}\n", usage_of(c));
  print_item(repl, "  ", c.doc);
  if (!c.more.empty()) print_item(repl, "  ", c.more);
  if (!c.aliases.empty()) repl.print("  also: {}\n", c.aliases);
  if (const std::string example = example_of(c); !example.empty()) repl.print("\n{}", example);
}

void list_keys(Repl& repl) {
  print_item(repl, "",
             "Keys while an entry is typed; docs/keys.md has those of vi's command mode. An inputrc changes them.");
  repl.print("\n");
  for (const KeyFunctionRow& row : key_functions()) {
    std::string keys;
    for (const std::string& key : key_names(row.keys[0])) keys += (keys.empty() ? "" : " ") + key;
    if (!keys.empty()) print_item(repl, fmt::format("  {:<24} ", keys), row.doc);
  }
}

void show_findings(Repl& repl, const std::vector<HelpFinding>& findings) {
  constexpr std::size_t kMost = 40;
  for (std::size_t i = 0; i < std::min(findings.size(), kMost); ++i)
    print_item(repl, fmt::format("  {:<9} {:<26} ", findings[i].kind, findings[i].name), findings[i].doc);
  if (findings.size() > kMost) repl.print("  and {} more\n", findings.size() - kMost);
}

}  // namespace

Status command_Apropos(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const auto findings = search_help(rest);
  if (repl.wants_json()) {
    Json rows = Json::array();
    for (const HelpFinding& f : findings) rows.push_back({{"kind", f.kind}, {"name", f.name}, {"doc", f.doc}});
    return repl.give(rows);
  }
  if (findings.empty())
    return repl.fail(source::message(diag::BadArgument, fmt::format("no help text contains `{}`", rest)));
  show_findings(repl, findings);
  return Status::Good;
}

// The thing that `:help NAME` explains under that name; empty: none.
static std::string subject_of_help(std::string_view name) {
  if (const Command* c = find_command(name).command) return fmt::format("command `:{}`", c->name);
  if (find_help_session(name)) return "topic of that name";
  if (passes::find_pass(name)) return "pass of that name";
  return ops::find(name) ? "operator of that name" : "";
}

// `n?`: a name of the frame, the session or the program means that, whatever command has it as well. Nothing: it is no
// such name.
static std::optional<Status> show_meaning(Repl& repl, std::string_view name) {
  if (repl.wants_json()) return std::nullopt;
  const auto shown = show_named(repl, name);
  const std::string subject = subject_of_help(name);
  if (shown && !subject.empty()) repl.print("`:help {}` explains the {}\n", name, subject);
  return shown;
}

Status command_Help(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    list_commands(repl);
    return Status::Good;
  }
  if (rest == "--markdown" || rest == "--markdown=expressions") {  // scripts/gen_docs
    repl.console().write(rest == "--markdown" ? commands_markdown() : expressions_markdown());
    return Status::Good;
  }
  if (rest == "--markdown=replies") {
    repl.console().write(replies_markdown());
    return Status::Good;
  }
  if (rest == "--markdown=keys") {
    repl.console().write(keys_markdown());
    return Status::Good;
  }
  if (rest.size() > 1 && rest.ends_with('?')) {
    rest.remove_suffix(1);
    if (const auto shown = show_meaning(repl, rest)) return *shown;
  }
  if (const HelpSession* session = find_help_session(rest)) {
    if (const Command* c = find_command_named(rest)) {  // `time` is both a command and a topic
      help_command(repl, *c);
      repl.print("\n");
    }
    repl.print("{}", transcript(session->text, columns_of_reader(repl)));
    return Status::Good;
  }
  if (rest == "keys") {
    list_keys(repl);
    return Status::Good;
  }
  std::string_view name = rest;
  if (name.starts_with(':')) name.remove_prefix(1);
  if (name.starts_with("R.")) name.remove_prefix(2);
  const Lookup found = find_command(name);
  if (found.command) {
    help_command(repl, *found.command);
    return Status::Good;
  }
  if (passes::find_pass(name)) return command_Passes(repl, name);
  if (const ops::OpInfo* op = ops::find(name)) {
    show_operator(repl, *op);
    return Status::Good;
  }
  if (const std::string_view meaning = meaning_of(rest); !meaning.empty()) {
    print_item(repl, fmt::format("{}: ", rest), meaning);
    return Status::Good;
  }
  // Replies of this command are text, those of `:info` data.
  if (const auto shown = repl.wants_json() ? std::nullopt : show_named(repl, rest)) return *shown;
  if (const auto findings = search_help(rest); !findings.empty()) {
    repl.print("nothing is named `{}`; it occurs in:\n", rest);
    show_findings(repl, findings);
    return Status::Good;
  }
  source::Message m =
      source::message(diag::NoSuchThing, "command, pass, operator, term, binding, function or value", rest);
  const std::string_view near = found.candidates.empty() ? ops::nearest_name(name) : found.candidates[0];
  if (!near.empty()) m.hint = fmt::format("did you mean `{}`?", near);
  return repl.fail(std::move(m));
}

// `TARGET = EXPRESSION` for a value of the stopped run; `var` before it means that it is not an option, as in gdb.
static std::optional<std::pair<std::string_view, std::string_view>> assignment_of(Repl& repl, std::string_view rest) {
  constexpr std::string_view kVar = "var ";
  const bool forced = rest.starts_with(kVar);
  if (forced) rest = trim(rest.substr(kVar.size()));
  const auto at = rest.find('=');
  if (at == std::string_view::npos || at + 1 >= rest.size() || rest[at + 1] == '=' || !repl.debugger().active())
    return std::nullopt;
  const std::string_view target = trim(rest.substr(0, at));
  const std::vector<Option>& all = options();
  // (`dim n=3` is an option and its value.)
  const std::string_view word = target.substr(0, target.find_first_of(" \t"));
  const bool is_option = std::any_of(all.begin(), all.end(), [&](const Option& o) { return o.name == word; });
  if (is_option && !forced) return std::nullopt;
  return std::pair(target, trim(rest.substr(at + 1)));
}

// Targets that only a stopped run has: `var x = 1`, `x[0] = 1`, the name of a value.
static std::optional<std::string_view> target_without_run(Repl& repl, std::string_view rest) {
  constexpr std::string_view kVar = "var ";
  const bool forced = rest.starts_with(kVar);
  if (forced) rest = trim(rest.substr(kVar.size()));
  const auto at = rest.find('=');
  if (at == std::string_view::npos || rest.substr(at).starts_with("==")) return std::nullopt;
  const std::string_view target = trim(rest.substr(0, at));
  if (forced || target.ends_with(']') || repl.session().find_value(target)) return target;
  return std::nullopt;
}

static Status refuse_without_run(Repl& repl, std::string_view target) {
  source::Message m = source::message(diag::NotStopped);
  const std::string_view name = target.substr(0, target.find('['));
  if (repl.session().find_value(name))
    m.hint = fmt::format(
        "`:set {} = ...` changes a value of a stopped run; `{} = ...` gives a value of the session anew", target, name);
  else
    m.hint =
        fmt::format("`:set {} = ...` changes a value of a stopped run: `:run` or `:start` a function first", target);
  return repl.fail(std::move(m));
}

static Status assign(Repl& repl, std::string_view target, std::string_view expression) {
  source::Diagnostics diagnostics;
  const auto done = repl.debugger().assign(target, expression, repl.frame(), diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !done) return Status::Failed;
  repl.print("{}\n", *done);
  return Status::Good;
}

// `--save NAME VALUE`: sets it now, and whenever a session starts.
static Status save_option(Repl& repl, std::string_view rest) {
  const auto blank = rest.find_first_of(" \t");
  if (blank == std::string_view::npos) return Status::Usage;
  if (!repl.may("save a setting", rest)) return Status::Failed;
  const Status set = command_Set(repl, rest);
  if (set != Status::Good) return set;
  std::string why;
  if (save_setting(rest.substr(0, blank), trim(rest.substr(blank)), why)) return Status::Good;
  return repl.fail(source::message(diag::FileNotWritten, config_file("settings"), why));
}

Status command_Set(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(options_json(repl));
    for (const Option& o : options()) print_item(repl, fmt::format("{:<14} {:<10} ", o.name, o.get(repl)), o.doc);
    return Status::Good;
  }
  const auto blank = rest.find_first_of(" \t=");
  const std::string_view name = rest.substr(0, blank);
  if (const auto assignment = assignment_of(repl, rest)) return assign(repl, assignment->first, assignment->second);
  if (name == kSaveFlag) return save_option(repl, trim(rest.substr(name.size())));
  std::string_view value = blank == std::string_view::npos ? std::string_view() : trim(rest.substr(blank));
  if (value.starts_with('=')) value = trim(value.substr(1));
  for (const Option& o : options()) {
    if (o.name != name) continue;
    if (value.empty()) {
      repl.print("{} = {}\n", o.name, o.get(repl));
      return Status::Good;
    }
    if (o.loosens && value == *o.loosens && !repl.may(fmt::format("set {} {}", name, value), rest))
      return Status::Failed;
    if (o.set(repl, value)) return Status::Good;
    return repl.fail(source::message(diag::BadOption, value, name).with_hint(fmt::format("values: {}", o.values)));
  }
  if (const auto target = target_without_run(repl, rest)) return refuse_without_run(repl, *target);
  std::vector<std::string_view> names;
  for (const Option& o : options()) names.push_back(o.name);
  source::Message m = source::message(diag::NoSuchThing, "option", name);
  const std::string_view near = source::nearest(name, names);
  m.hint = near.empty() ? fmt::format("options: {}", fmt::join(names, ", ")) : fmt::format("did you mean `{}`?", near);
  return repl.fail(std::move(m));
}

Status command_Source(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (const auto document = here_document(rest))
    return repl.run_script(document->body, document->first.empty() ? "<here>" : std::string(document->first), false);
  auto text = support::read_file(std::string(rest), source::kMaxBytes);
  if (!text.ok()) {
    source::Diagnostics unknown;
    const bool is_name = rest.find_first_of("./ ") == std::string_view::npos;
    if (is_name && repl.session().find_kernel(rest, unknown)) return show_source(repl, rest);
    return repl.fail(source::message(diag::FileNotFound, rest, text.error().reason));
  }
  // Only the outermost script is named on the command line; scripts that it sources are not.
  const bool named = std::exchange(repl.on_command_line, false);
  const Status status = repl.run_script(*text, std::string(rest), named);
  repl.on_command_line = named;
  return status;
}

// The entries of this session; those of one script that the user did not write stay together, so that an `:expect`
// follows what it is about.
static std::string entered_text(Repl& repl) {
  std::string text;
  debug::StoredEntry part;
  const auto add_part = [&] {
    if (!part.text.empty()) text += with_author(part.text, part.author) + "\n";
    part = {};
  };
  for (const auto& [entry, in_script] : repl.entered()) {
    if (entry.text.starts_with(":save-script")) continue;
    if (part.author.script != entry.author.script) add_part();
    part.author = entry.author;
    part.text += (part.text.empty() ? "" : "\n") + (in_script.empty() ? entry.text : in_script);
  }
  add_part();
  return text;
}

Status command_SaveScript(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_write(rest, rest)) return Status::Failed;
  const std::string text = "# rldb script\n" + repl.opened() + entered_text(repl);
  if (!write_output(std::string(rest), text, repl.console())) return Status::Failed;
  repl.print("wrote {} ({})\n", rest, support::counted(repl.entered().size(), "entry"));
  return Status::Good;
}

Status command_Html(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_write(rest, rest)) return Status::Failed;
  const std::string page = session_page(repl.recorded(), repl.session().program_path(), made_by());
  if (const auto written = support::write_file(std::string(rest), page); !written.ok())
    return repl.fail(source::message(diag::FileNotWritten, rest, written.error().reason));
  repl.print("wrote {} ({})\n", rest, support::counted(ended_entries(repl.recorded()), "entry"));
  return Status::Good;
}

Status command_Quit(Repl& repl, std::string_view rest) {
  if (!repl.may_give_run_up("`quit`")) return Status::Failed;
  if (!rest.empty()) {
    const auto code = parse_count(rest);
    if (!code || *code > 255) return Status::Usage;
    repl.set_exit_code(int(*code));
  }
  return Status::Quit;
}

}  // namespace rldb::ui
