// Candidates from the tables and from the session.
#include "ui/prompt/entry/candidates.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "rldb/bytecode/builtin.h"
#include "rldb/debug/catch_event.h"
#include "rldb/expression/language.h"
#include "rldb/frontend/unfinished.h"
#include "rldb/frontend/words.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/passes/pass.h"
#include "rldb/repro/dump.h"
#include "rldb/ui/prompt/option.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/arrange.h"
#include "rldb/ui/terminal/guarded.h"
#include "ui/prompt/commands/help_text.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/entry/hint.h"

namespace rldb::ui {

namespace {

// The help of a command about one of its words: of `--shadow: also compute in float64.` what follows the colon, of
// `error (a fault), ...` what is in the brackets. Empty: it says nothing.
std::string_view said_of(const Command& command, std::string_view word) {
  const std::string_view help = command.more;
  for (auto at = help.find(word); at != std::string_view::npos; at = help.find(word, at + 1)) {
    const std::string_view rest = help.substr(at + word.size());
    if (at > 0 && help[at - 1] != ' ') continue;
    if (rest.starts_with(": "))
      return rest.substr(2, std::min(rest.find(". "), rest.size() - (rest.ends_with('.') ? 1 : 0)) - 2);
    if (rest.starts_with(" (")) return rest.substr(2, rest.find(')') - 2);
  }
  return {};
}

// `mark`: the prefix before the name of the file, which is kept (`@`).
void add_files(std::string_view prefix, std::string_view mark, Candidates& out) {
  prefix.remove_prefix(mark.size());
  const auto slash = prefix.rfind('/');
  const std::string folder = slash == std::string_view::npos ? "" : std::string(prefix.substr(0, slash + 1));
  const std::string_view name = slash == std::string_view::npos ? prefix : prefix.substr(slash + 1);
  DIR* dir = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!dir) return;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string_view candidate = entry->d_name;
    if (!candidate.starts_with(name) || (candidate.front() == '.' && name.empty())) continue;
    struct stat info {};
    const std::string path = folder + std::string(candidate);
    const bool is_folder = ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    out.emplace_back(std::string(mark) + path + (is_folder ? "/" : ""),
                     is_folder ? "folder" : size_text(std::size_t(info.st_size)));
  }
  ::closedir(dir);
}

// Locals and symbolic variables of the selected frame.
void add_frame(Repl& repl, Candidates& out) {
  if (!repl.debugger().active()) return;
  for (const debug::LocalInfo& local : repl.debugger().locals(repl.frame())) out.emplace_back(local.name, local.type);
  for (const debug::SlotInfo& slot : repl.debugger().heap(repl.frame())) {
    if (!is_one_name(slot.expression)) continue;
    out.emplace_back(slot.expression, slot.set ? fmt::format("symbolic variable, = {}", slot.value)
                                               : std::string("symbolic variable, not set yet"));
  }
}

std::string about_value(const session::NamedValue& v) {
  return v.var && v.var->type ? ir::print_type(v.var->type) : std::string();
}

std::string about_function(const ir::Expr* function) {
  if (ir::isa<ir::PrimFunc>(function)) return "kernel";
  return function && function->type ? ir::print_type(function->type) : std::string("function");
}

void add_function_names(Repl& repl, Candidates& out) {
  const ir::Module* module = repl.session().module();
  for (const std::string& f : repl.session().function_names())
    out.emplace_back(f, about_function(module ? module->find(f) : nullptr));
}

void add_names(Repl& repl, Candidates& out) {
  add_frame(repl, out);
  for (const session::NamedValue& v : repl.session().values().in_order()) out.emplace_back(v.name, about_value(v));
  add_function_names(repl, out);
}

// Names declared in the lines of a definition: `name: TYPE` of a parameter, `name = ...` and `name: TYPE = ...` at the
// start of a line.
void add_declared(std::string_view text, Candidates& out) {
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + 1;
    if (!expression::is_name_byte(text[at])) continue;
    while (end < text.size() && expression::is_name_byte(text[end])) ++end;
    const std::string_view rest = text.substr(end);
    const std::string_view line = text.substr(0, at).substr(text.substr(0, at).rfind('\n') + 1);
    const bool first = line.find_first_not_of(" \t") == std::string_view::npos;
    if (rest.starts_with(": ") || (first && rest.starts_with(" = "))) out.emplace_back(text.substr(at, end - at));
  }
}

bool is_definition(std::string_view text) {
  return text.find('\n') != std::string_view::npos && (text.starts_with('@') || text.starts_with("class "));
}

// Functions and their bindings, nested blocks included.
void add_functions(Repl& repl, Candidates& out) {
  add_function_names(repl, out);
  const ir::Module* module = repl.session().module();
  if (!module) return;
  for (const ir::ModuleEntry& entry : module->entries) {
    out.emplace_back(entry.name, about_function(entry.function));
    const auto* relax = ir::as<ir::Function>(entry.function);
    if (!relax) continue;
    ir::walk(relax->body, [&](const ir::Node* n) {
      if (const auto* b = ir::as<ir::Binding>(n))
        out.emplace_back(fmt::format("{}:{}", entry.name, b->var->name),
                         b->var->type ? ir::print_type(b->var->type) : std::string());
      return true;
    });
  }
}

void add_kernels(Repl& repl, Candidates& out) {
  for (const session::Session::KernelState& k : repl.session().kernel_states())
    out.emplace_back(k.name, k.compiled ? "kernel, compiled" : "kernel");
  const ir::Module* module = repl.session().module();
  for (std::size_t i = 0; module && i < module->entries.size(); ++i)
    if (ir::isa<ir::PrimFunc>(module->entries[i].function)) out.emplace_back(module->entries[i].name, "kernel");
}

void add_line(std::string_view file, const source::Buffer& buffer, std::uint32_t line, Candidates& out) {
  out.emplace_back(fmt::format("{}:{}", file, line), trim(buffer.line(line)));
}

// `FILE:` with the lines of its bindings.
void add_lines(Repl& repl, std::string_view file, Candidates& out) {
  const ir::Module* module = repl.session().module();
  for (std::size_t i = 0; module && i < module->entries.size(); ++i) {
    const auto* relax = ir::as<ir::Function>(module->entries[i].function);
    if (!relax) continue;
    ir::walk(relax->body, [&](const ir::Node* n) {
      if (!ir::isa<ir::Binding>(n)) return true;
      const source::Span span = repl.session().context().span_of(n);
      const source::Buffer* buffer = repl.session().sources().find(span.file);
      if (buffer && (buffer->name() == file || buffer->name().ends_with(fmt::format("/{}", file))))
        add_line(file, *buffer, buffer->line_column(span.begin).line, out);
      return true;
    });
  }
}

// Places where a breakpoint can be set.
void add_places(Repl& repl, std::string_view prefix, Candidates& out) {
  add_functions(repl, out);
  add_kernels(repl, out);
  if (const auto colon = prefix.rfind(':'); colon != std::string_view::npos)
    add_lines(repl, prefix.substr(0, colon), out);
  // Builtins and operators are many: offered from the first letter on.
  constexpr std::string_view kOperator = "op:";
  if (!prefix.empty())
    for (const bytecode::BuiltinInfo& b : bytecode::builtins()) out.emplace_back(b.name, b.doc);
  if (!repl.session().program_path().empty() && prefix.find(':') == std::string_view::npos) {
    const std::string& path = repl.session().program_path();
    out.emplace_back(path.substr(path.rfind('/') + 1) + ":", "a line of the file");
  }
  out.emplace_back(kOperator, "each call of an operator");
  if (!prefix.starts_with(kOperator)) return;
  for (const ops::OpInfo& op : ops::all()) out.emplace_back(fmt::format("{}{}", kOperator, op.short_name()), op.doc);
}

std::string about_version(const session::Version& version) {
  switch (version.by) {
    case session::Version::By::Load:
      return "as loaded";
    case session::Version::By::Pass:
      return fmt::format("after {}", version.pass);
    case session::Version::By::Edit:
      return "an edit";
  }
  return {};
}

void add_versions(Repl& repl, Candidates& out) {
  const session::Program* program = repl.session().program();
  if (!program) return;
  for (std::size_t v = 0; v < program->version_count(); ++v)
    out.emplace_back(std::to_string(v), about_version(program->version(v)));
  for (const auto& [name, version] : program->bookmarks()) out.emplace_back(name, fmt::format("version {}", version));
}

// `FOLDER:`, and after it its stages.
void add_stages(std::string_view prefix, Candidates& out) {
  const auto colon = prefix.rfind(':');
  if (colon == std::string_view::npos) {
    Candidates files;
    add_files(prefix, "", files);
    for (const Candidate& file : files) {
      if (!file.text.ends_with('/')) continue;
      out.push_back(file);
      const std::string folder = file.text.substr(0, file.text.size() - 1);
      if (const std::size_t stages = repro::stage_files(folder).size(); stages > 0)
        out.emplace_back(folder + ":", fmt::format("{} stages", stages));
    }
    return;
  }
  const std::string folder(prefix.substr(0, colon));
  for (const std::string& file : repro::stage_files(folder))
    out.emplace_back(fmt::format("{}:{}", folder, file.substr(0, file.size() - std::string_view(".py").size())));
}

void add_commands(Repl& repl, Candidates& out) {
  for (const Command& c : commands()) out.emplace_back(c.name, c.doc);
  for (const auto& [name, entry] : repl.defined) out.emplace_back(name, "defined by `:define`");
}

// Words of a list such as `on, off` or `skip_ops=[names], enable_warning=bool`, up to `=`.
std::vector<std::string> listed(std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(", ", at), list.size());
    const std::string_view item = list.substr(at, end - at);
    words.emplace_back(item.substr(0, std::min(item.find('='), item.size())));
    at = end + 2;
  }
  return words;
}

// Passes, or inside `Pass(` its options.
void add_passes(const pipeline::PassTable& passes, std::string_view before, std::string_view prefix, Candidates& out) {
  const std::string text = std::string(before) + std::string(prefix);
  if (const std::string_view call = frontend::open_call(text, text.size()); !call.empty()) {
    if (const pipeline::PassRow* p = passes.find(call))
      for (const pipeline::OptionInfo& option : p->options)
        out.emplace_back(fmt::format("{}=", option.name), fmt::format("{} (default: {})", option.doc, option.fallback));
    return;
  }
  for (const pipeline::PassRow* p : passes.passes()) out.emplace_back(p->name, p->doc);
  for (const pipeline::NamedPipeline& p : passes.pipelines()) out.emplace_back(p.name, p.doc);
}

void add_engines(Candidates& out) {
  for (const session::Engine e : session::kEngines) out.emplace_back(session::to_string(e));
}

// `:set NAME`, then its possible values.
void add_options(std::string_view before, Candidates& out) {
  std::vector<std::string> words = split_words(before);
  if (!words.empty() && words[0] == kSaveFlag) words.erase(words.begin());
  for (const Option& o : options()) {
    if (words.empty()) out.emplace_back(o.name, o.doc);
    const bool choice = o.values.find(", ") != std::string_view::npos && o.values.find(' ') == o.values.find(", ") + 1;
    if (!words.empty() && words[0] == o.name && choice)
      for (const std::string& value : listed(o.values)) out.emplace_back(value);
  }
}

void add_events(const Command& command, Candidates& out) {
  for (const std::string_view event : debug::kCatchEvents) out.emplace_back(event, said_of(command, event));
}

// Candidates for the value of an option: `--passes=PASSES`.
void add_flag_value(Repl& repl, std::string_view flag, std::string_view form, std::string_view typed, Candidates& out) {
  Candidates values;
  if (form == "PASSES") {
    const std::size_t last = typed.rfind(',') + 1;  // after a list of passes
    const pipeline::PassTable& passes = session::passes_of(repl.session().program());
    add_passes(passes, typed.substr(0, last), typed.substr(last), values);
    for (Candidate& value : values) value.text.insert(0, typed.substr(0, last));
  } else if (form == "ENGINE") {
    add_engines(values);
  } else if (form == "F") {
    add_functions(repl, values);
  }
  for (const Candidate& value : values) out.emplace_back(fmt::format("{}={}", flag, value.text), value.about);
}

// Options of a command as written in its row: `[--kind=heat|hist|line]`.
void add_flags(Repl& repl, const Command& command, std::string_view prefix, Candidates& out) {
  const std::string_view text = command.arguments;
  for (auto at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
    std::size_t end = at + 2;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '-')) ++end;
    const std::string flag(text.substr(at, end - at));
    if (end >= text.size() || text[end] != '=') {
      out.emplace_back(flag, said_of(command, flag));
      continue;
    }
    const std::string_view values = text.substr(end + 1, text.find_first_of("] ", end) - end - 1);
    if (values.find('|') == std::string_view::npos) {
      out.emplace_back(flag + "=", said_of(command, flag));
      if (prefix.starts_with(out.back().text))
        add_flag_value(repl, flag, values, prefix.substr(out.back().text.size()), out);
      continue;
    }
    for (std::size_t i = 0; i <= values.size();) {
      const std::size_t bar = std::min(values.find('|', i), values.size());
      out.emplace_back(fmt::format("{}={}", flag, values.substr(i, bar - i)));
      i = bar + 1;
    }
  }
}

// Literal words that may come first: `[breakpoints | functions | OPERATOR]`.
void add_own_words(const Command& command, Candidates& out) {
  bool first = true;
  for (const std::string& word : split_words(command.arguments)) {
    std::string_view text = word;
    while (text.starts_with('[')) text.remove_prefix(1);
    while (text.ends_with(']')) text.remove_suffix(1);
    const bool lower = std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
    const bool own = first && lower && text.size() > 1 && !text.starts_with('-');
    if (own) out.emplace_back(text, said_of(command, text));
    first = word == "|" || (own && word.starts_with('[') && word.ends_with(']'));
  }
}

void add_screen_words(std::string_view arguments, Candidates& out) {
  if (arguments.find("PANE") == std::string_view::npos) return;
  for (std::size_t i = 0; i < kPaneKinds; ++i) out.emplace_back(name_of(PaneKind(i)));
}

// `WHERE if CONDITION`, with the cursor in the condition.
bool takes_condition(const Command& command, std::string_view before) {
  return command.arguments.find("[if CONDITION]") != std::string_view::npos &&
         before.find(" if ") != std::string_view::npos;
}

}  // namespace

void add_arguments(Repl& repl, const Command& command, std::string_view before, std::string_view prefix,
                   Candidates& out) {
  if (prefix.starts_with("--")) return add_flags(repl, command, prefix, out);
  if (prefix.starts_with('@')) return add_files(prefix, "@", out);
  if (trim(before).empty()) add_own_words(command, out);
  if (takes_condition(command, before)) return add_expression(repl, before, prefix, out);
  // Of the second word and later ones, `for KERNEL` is the only one that names kernels.
  if (command.arguments.find("KERNEL") != std::string_view::npos &&
      (command.completion != Completion::Engine || trim(before).ends_with(" for")))
    return add_kernels(repl, out);
  switch (command.completion) {
    case Completion::None:
      return;
    case Completion::File:
      if (command.arguments.starts_with("EXPRESSION") && trim(before).empty()) add_names(repl, out);
      return add_files(prefix, "", out);
    case Completion::Function:
      add_functions(repl, out);
      return add_names(repl, out);
    case Completion::Place:
      return add_places(repl, prefix, out);
    case Completion::Event:
      return add_events(command, out);
    case Completion::Version:
      if (command.arguments.find("STAGE") != std::string_view::npos) add_stages(prefix, out);
      return add_versions(repl, out);
    case Completion::Name:
      if (command.name == "info" || command.name == "type") add_functions(repl, out);
      return add_expression(repl, before, prefix, out);
    case Completion::Pass:
      return add_passes(session::passes_of(repl.session().program()), before, prefix, out);
    case Completion::Engine:
      if (trim(before).find(' ') == std::string_view::npos && !trim(before).empty()) out.emplace_back("for");
      return;
    case Completion::Time:
      for (const auto& [name, time] : repl.debugger().checkpoints()) out.emplace_back(name, fmt::format("@{}", time));
      return;
    case Completion::Command:
      if (prefix.starts_with("R.")) return add_expression(repl, before, prefix, out);
      out.emplace_back("keys", "the keys of the prompt");
      add_commands(repl, out);
      for (const HelpSession& session : help_sessions()) out.emplace_back(session.name, title_of(session));
      for (const pipeline::PassRow* p : session::passes_of(repl.session().program()).passes())
        out.emplace_back(p->name, p->doc);
      return;
    case Completion::Option:
      add_options(before, out);
      if (trim(before).empty()) add_frame(repl, out);  // `:set TARGET = EXPRESSION`
      return;
    case Completion::Screen:
      return add_screen_words(command.arguments, out);
  }
}

void add_expression(Repl& repl, std::string_view before, std::string_view prefix, Candidates& out) {
  if (prefix.starts_with("R.") || prefix.starts_with("T.")) {
    for (const frontend::Word& word : frontend::words_beginning(prefix))
      out.emplace_back(word.name, word.doc.empty() ? std::string_view(word.signature) : word.doc);
    return;
  }
  // `x.`: attributes that the expression language defines for a value.
  if (const auto dot = prefix.rfind('.'); dot != std::string_view::npos) {
    const std::string head(prefix.substr(0, dot + 1));
    if (expression::is_numpy(prefix.substr(0, dot))) {
      for (const expression::LanguageRow& row : expression::language_functions())
        out.emplace_back(head + std::string(row.name), row.doc);
      return;
    }
    for (const expression::LanguageRow& row : expression::language_attributes())
      out.emplace_back(head + std::string(row.name), row.doc);
    for (const expression::LanguageRow& row : expression::language_functions())
      if (row.form == "x" || row.form.starts_with("x,")) out.emplace_back(head + std::string(row.name) + "(", row.doc);
    return;
  }
  if (is_definition(before)) {
    add_declared(before, out);
  } else {
    add_names(repl, out);
    for (const expression::LanguageRow& row : expression::language_functions()) out.emplace_back(row.name, row.doc);
  }
  // Attributes of the operator whose call is open.
  const std::string text(before);
  const std::string_view call = frontend::open_call(text, text.size());
  if (!call.starts_with("R.")) return;
  if (const ops::OpInfo* op = ops::find(call.substr(2)))
    for (const ops::ParamInfo& p : op->params) out.emplace_back(fmt::format("{}=", p.name));
}

}  // namespace rldb::ui
