// Commands about the module: load, save, show.
#include <fmt/format.h>

#include <utility>

#include "rldb/bytecode/serialise.h"
#include "rldb/debug/file_names.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/session/relay_machine.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/file.h"
#include "ui/batch/batch.h"
#include "ui/repl/commands/binding_info.h"
#include "ui/repl/commands/handlers.h"
#include "ui/repl/commands/relay_versions.h"
#include "ui/repl/data/data.h"
#include "ui/repl/entry/reader.h"
#include "ui/repl/entry/state.h"
#include "ui/repl/kernel_view.h"
#include "ui/repl/view.h"
#include "ui/repro_file/repro_file.h"

namespace rldb::ui {

namespace {

// How a Relay text was loaded, for the reader: one of two ways.
std::string_view made_of(session::Session& session) {
  source::Diagnostics ignored;
  if (session.has_executable()) {
    const auto build = session.viewable(ignored);
    return build && session::is_on_relay_machine(*build) ? " for the Relay VM" : "";
  }
  const ir::Module* m = session.module();
  if (!m || m->entries.empty()) return "";
  const source::Buffer* text = session.sources().find(session.context().span_of(m->entries.front().function).file);
  return text && frontend::is_relay(text->name(), text->text()) ? ", translated to Relax" : "";
}

Status loaded(Repl& repl, bool ok, const source::Diagnostics& diagnostics) {
  repl.report(diagnostics);
  if (!ok) return Status::Failed;
  repl.debugger().kill();
  repl.debugger().resolve_breakpoints();
  if (repl.wants_json()) return repl.give(program_json(repl));
  const std::vector<std::string> names = repl.session().function_names();
  repl.print("loaded {}{}: {}\n", repl.session().program_path(), made_of(repl.session()), fmt::join(names, ", "));
  return Status::Good;
}

// Sets the purpose for which Relay text is loaded, while it lives.
class LoadedFor {
 public:
  explicit LoadedFor(session::Machine machine) : before_(std::exchange(session::relay_machine()->wanted, machine)) {}
  ~LoadedFor() { session::relay_machine()->wanted = before_; }
  LoadedFor(const LoadedFor&) = delete;
  LoadedFor& operator=(const LoadedFor&) = delete;

 private:
  session::Machine before_;
};

Status no_module(Repl& repl) { return repl.fail(source::message(diag::NoProgram)); }

std::string_view kind_of(const ir::Expr* f) {
  if (ir::isa<ir::Function>(f)) return "relax function";
  if (ir::isa<ir::PrimFunc>(f)) return "prim func";
  if (ir::isa<ir::ExternFunc>(f)) return "extern";
  return "python function";
}

void list_functions(Repl& repl) {
  for (const ir::ModuleEntry& entry : repl.session().module()->entries) {
    std::string type = entry.function->type ? ir::print_type(entry.function->type) : "";
    if (type.size() > 100) type = type.substr(0, 97) + "...";
    repl.print("{:<16} {} {}\n", kind_of(entry.function), entry.name, type);
  }
}

// An executable has no text: shows its functions, or the instructions of one.
Status list_executable(Repl& repl, std::string_view function) {
  if (!function.empty()) return command_Disasm(repl, function);
  source::Diagnostics diagnostics;
  const auto build = repl.session().viewable(diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !build) return Status::Failed;
  if (repl.wants_json()) return repl.give(disassembly_json(repl, *build->executable, -1));
  for (const bytecode::FunctionEntry& f : build->executable->functions)
    if (f.kind == bytecode::FunctionKind::Bytecode)
      repl.print("{}({}): {} instructions\n", f.name, fmt::join(f.param_names, ", "), f.end - f.start);
  return Status::Good;
}

const ir::Expr* find_function(Repl& repl, std::string_view name) {
  const ir::Module* module = repl.session().module();
  const ir::Expr* f = module ? module->find(name) : nullptr;
  if (f) return f;
  if (!module) {
    no_module(repl);
    return nullptr;
  }
  const std::vector<std::string> names = repl.session().function_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  source::Message m = source::message(diag::NoSuchThing, "function", name);
  const std::string_view near = source::nearest(name, views);
  m.hint =
      near.empty() ? fmt::format("functions: {}", fmt::join(names, ", ")) : fmt::format("did you mean `{}`?", near);
  repl.fail(std::move(m));
  return nullptr;
}

}  // namespace

Status command_Load(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_end_run("loading a program")) return Status::Failed;
  source::Diagnostics diagnostics;
  const auto document = here_document(rest);
  if (!document) {
    const bool ok = repl.session().load_file(std::string(rest), diagnostics);
    return loaded(repl, ok, diagnostics);
  }
  const std::string name(document->first.empty() ? "<here>" : document->first);
  const bool ok = repl.session().load_text(name, std::string(document->body), diagnostics);
  return loaded(repl, ok, diagnostics);
}

Status command_Reload(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.may_end_run("loading the program again")) return Status::Failed;
  source::Diagnostics diagnostics;
  const bool ok = repl.session().reload(diagnostics);
  return loaded(repl, ok, diagnostics);
}

Status command_ToRelax(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const source::Buffer* text = relay_text(repl);
  if (!text) return repl.fail(source::message(diag::NoRelayProgram));
  if (!repl.may_end_run("translating the program")) return Status::Failed;
  source::Diagnostics diagnostics;
  const LoadedFor relax(session::Machine::Relax);
  const bool ok = repl.session().load_text(std::string(text->name()), std::string(text->text()), diagnostics);
  return loaded(repl, ok, diagnostics);
}

Status command_Save(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_write(rest, rest)) return Status::Failed;
  source::Diagnostics diagnostics;
  std::string bytes;
  if (rest.ends_with(".rlvm")) {
    auto made = debug::executable_file(repl.session(), diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !made) return Status::Failed;
    bytes = std::move(*made);
  } else {
    if (!needs(repl, "`:save FILE.py`", session::kModule)) return Status::Failed;
    ir::PrintOptions options = repl.session().options().print;
    options.show_meta = true;
    bytes = ir::print(repl.session().module(), options);
  }
  if (!write_output(std::string(rest), bytes, repl.console())) return Status::Failed;
  repl.print("wrote {} ({} bytes)\n", rest, bytes.size());
  return Status::Good;
}

// The lines around a line of the current file.
static Status list_line(Repl& repl, std::uint64_t line) {
  const source::FileId file = file_at_hand(repl);
  const source::Buffer* buffer = repl.session().sources().find(file);
  if (!buffer) return repl.fail(source::message(diag::NoSuchThing, "line", line));
  if (line == 0 || line > buffer->line_count())
    return repl.fail(
        source::message(diag::NoSuchLine, buffer->name(), line, support::counted(buffer->line_count(), "line")));
  LineWindow window = lines_around(*buffer, std::uint32_t(line), repl.list_lines);
  const debug::Position& where = repl.debugger().last_stop().where;
  const bool stopped = repl.debugger().active() && where.span.file == file;
  window.current = stopped ? buffer->line_column(where.span.begin).line : 0;
  if (repl.wants_json()) return repl.give(lines_json(*buffer, window));
  show_source_lines(repl, file, window);
  return Status::Good;
}

Status command_List(Repl& repl, std::string_view rest) {
  // A kernel that is run on its own has no frame.
  const auto frames = repl.debugger().frames();
  if (rest.empty() && repl.frame() == 0 && repl.debugger().kernel_position()) {
    if (repl.wants_json()) return repl.give(lines_json(repl));
    list_kernel(repl);
    return Status::Good;
  }
  if (rest.empty() && repl.debugger().active() && std::size_t(repl.frame()) < frames.size()) {
    if (repl.wants_json()) return repl.give(lines_json(repl));
    show_source_around(repl, frames[std::size_t(repl.frame())].where, repl.list_lines);
    return Status::Good;
  }
  if (repl.session().has_executable()) return list_executable(repl, rest);
  if (!repl.session().module()) return no_module(repl);
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(functions_json(repl.session().module()));
    list_functions(repl);
    return Status::Good;
  }
  if (const auto line = parse_count(rest)) return list_line(repl, *line);
  return command_Show(repl, rest);
}

Status command_Show(Repl& repl, std::string_view rest) {
  if (is_relay(repl)) return relay_show(repl, rest);
  if (!repl.session().module()) return no_module(repl);
  const ir::PrintOptions& options = repl.session().options().print;
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(text_json("", ir::print(repl.session().module(), options)));
    show_text(repl, ir::print(repl.session().module(), options));
    return Status::Good;
  }
  const ir::Expr* f = find_function(repl, rest);
  if (!f) return Status::Failed;
  if (repl.wants_json()) return repl.give(text_json(rest, ir::print_function(rest, f, options)));
  show_text(repl, ir::print_function(rest, f, options));
  return Status::Good;
}

Status command_Uses(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.empty() || words.size() > 2) return Status::Usage;
  const ir::Module* module = repl.session().module();
  if (!module) return no_module(repl);
  std::vector<VariableUse> found;
  bool known = false;
  for (const ir::ModuleEntry& entry : module->entries) {
    if (words.size() == 2 && entry.name != words[1]) continue;
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f) continue;
    for (const ir::Var* p : f->params) known = known || p->name == words[0];
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* b = ir::as<ir::Binding>(n);
      if (!b) return true;
      known = known || b->var->name == words[0];
      bool uses = false;
      ir::walk(b->value, [&](const ir::Node* inner) {
        const auto* v = ir::as<ir::Var>(inner);
        uses = uses || (v && v->name == words[0]);
        return true;
      });
      if (uses) found.push_back({std::string(entry.name), b});
      return true;
    });
    if (const auto* v = ir::as<ir::Var>(f->body->body); v && v->name == words[0])
      found.push_back({std::string(entry.name), nullptr});
  }
  if (!known) return repl.fail(source::message(diag::NoSuchThing, "variable", words[0]));
  if (repl.wants_json()) return repl.give(uses_json(repl, words[0], found));
  for (const VariableUse& use : found)
    repl.print("{}: {}\n", use.function, use.binding ? ir::print_binding(use.binding) : "return " + words[0]);
  if (found.empty()) repl.print("no uses of {}\n", words[0]);
  return Status::Good;
}

// `:verify --test=COMMAND`: fails if the command finds the fault, that is, ends with 0.
static Status ask_command(Repl& repl, const std::string& command) {
  const ir::Module* module = repl.session().module();
  if (!module) return repl.fail(source::message(diag::NoProgram));
  if (!repl.may("run a shell", command)) return Status::Failed;
  const std::string text = module_text(module, repl.session().options().print);
  const std::optional<int> code = repro::run_test_command(command, text);
  if (repl.wants_json()) repl.give(Json{{"finds_the_fault", code == 0}});
  if (code == 0) return repl.fail(source::message(diag::CommandFindsFault, command));
  if (!code || *code >= kCannotTell)
    return repl.fail(source::message(diag::CannotTell, fmt::format("`{}` could not be run", command)));
  if (!repl.wants_json()) repl.print("the command does not find the fault\n");
  return Status::Good;
}

Status command_Verify(Repl& repl, std::string_view rest) {
  constexpr std::string_view kTest = "--test=";
  bool roundtrip = false;
  std::string test;
  for (const std::string& word : split_words(rest)) {
    roundtrip = roundtrip || word == "--roundtrip";
    if (word.starts_with(kTest) && word.size() > kTest.size())
      test = word.substr(kTest.size());
    else if (word != "--roundtrip")
      return Status::Usage;
  }
  if (!test.empty()) return ask_command(repl, test);
  source::Diagnostics diagnostics;
  const bool ok = repl.session().verify(diagnostics);
  repl.report(diagnostics);
  Json data{{"well_formed", ok}, {"reads_back", nullptr}};
  if (repl.wants_json()) repl.give(data);
  if (!ok) return Status::Failed;
  if (!repl.wants_json()) repl.print("well-formed\n");
  if (!roundtrip) return Status::Good;
  source::Diagnostics of_reading;
  const std::string what = repro::roundtrip(repl.session(), repl.session().options().print, of_reading);
  repl.report(of_reading);
  data["reads_back"] = what.empty();
  if (repl.wants_json()) repl.give(data);
  if (!what.empty()) return repl.fail(source::message(diag::NotRoundTripped, what));
  if (!repl.wants_json()) repl.print("reads back as it was printed\n");
  return Status::Good;
}

Status command_Info(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.empty() || std::string_view("program").starts_with(words[0])) {
    if (repl.wants_json()) return repl.give(program_json(repl));
    show_program(repl);
    return Status::Good;
  }
  std::string_view what = words[0];
  // A variable with this name takes precedence over a letter or the beginning of a word.
  if (words.size() == 1 && show_binding(repl, what)) return Status::Good;
  if (what.starts_with("R.")) what.remove_prefix(2);
  const auto is = [&](std::string_view name) { return name.starts_with(what); };
  if (const ops::OpInfo* op = ops::find(what)) {
    if (repl.wants_json()) return repl.give(operator_json(*op));
    show_operator(repl, *op);
    return Status::Good;
  }
  if (is("breakpoints") || what == "b") {
    if (repl.wants_json()) return repl.give(breakpoints_json(repl));
    show_breakpoints(repl);
    return Status::Good;
  }
  if (is("functions")) {
    if (repl.session().has_executable()) return list_executable(repl, "");
    if (!repl.session().module()) return no_module(repl);
    if (repl.wants_json()) return repl.give(functions_json(repl.session().module()));
    list_functions(repl);
    return Status::Good;
  }
  if (is("values")) return command_Input(repl, "");
  if (is("locals") && what.size() > 1) return command_Locals(repl, "");
  if (is("registers")) return command_Registers(repl, "");
  if (is("heap")) return command_Heap(repl, "");
  if (is("display")) return command_Display(repl, "");
  if (is("frame")) return command_Bt(repl, "");
  if (show_frame_name(repl, what)) return Status::Good;
  if (repl.session().module() && repl.session().module()->find(what)) return command_Type(repl, what);
  if (const runtime::Value* v = repl.session().find_value(what)) {
    if (repl.wants_json())
      return repl.give({{"name", what}, {"value", value_json(*v, repl.print_format.max_elements)}});
    repl.print("{}: {}\n", what, runtime::describe(*v));
    return Status::Good;
  }
  source::Message m = source::message(diag::NoSuchThing, "operator, function, binding or value", what);
  const std::string_view near = ops::nearest_name(what);
  if (!near.empty()) m.hint = fmt::format("did you mean the operator `{}`?", near);
  return repl.fail(std::move(m));
}

namespace {

Status go_to_version(Repl& repl, std::size_t version) {
  if (version < repl.session().history().size() && version != repl.session().history().position() &&
      !repl.may_end_run(fmt::format("going to version {}", version)))
    return Status::Failed;
  if (!repl.session().history().rewind(version)) return repl.fail(source::message(diag::NoSuchVersion, version));
  repl.debugger().kill();
  if (repl.wants_json())
    repl.give(version_json(repl));
  else
    repl.print("at version {}\n", version);
  resolve_and_tell(repl);
  return Status::Good;
}

}  // namespace

// Did the step to this version leave the module unchanged? Such a version is skipped.
static bool changed_nothing(const passes::History& history, std::size_t version) {
  return version > 0 && history.module_at(version) == history.module_at(version - 1);
}

Status command_Undo(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_undo(repl, false);
  const passes::History& history = repl.session().history();
  std::size_t at = history.position();
  while (at > 0 && changed_nothing(history, at)) --at;
  if (at == 0) return repl.fail(source::message(diag::NoMoreVersions, "undo"));
  return go_to_version(repl, at - 1);
}

Status command_Redo(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_undo(repl, true);
  const passes::History& history = repl.session().history();
  std::size_t to = history.position() + 1;
  if (to >= history.size()) return repl.fail(source::message(diag::NoMoreVersions, "redo"));
  while (to + 1 < history.size() && changed_nothing(history, to)) ++to;
  return go_to_version(repl, to);
}

Status command_Rewind(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_rewind(repl, rest);
  for (const auto& [name, version] : repl.session().history().bookmarks())
    if (name == rest) return go_to_version(repl, version);
  const auto number = parse_count(rest);
  if (!number) return repl.fail(source::message(diag::NoSuchVersion, rest));
  return go_to_version(repl, *number);
}

}  // namespace rldb::ui
