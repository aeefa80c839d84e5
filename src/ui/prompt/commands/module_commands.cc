// Commands about the module: load, save, show.
#include <fmt/format.h>

#include <utility>

#include "rldb/bytecode/serialise.h"
#include "rldb/debug/file_names.h"
#include "rldb/debug/graph.h"
#include "rldb/debug/storage.h"
#include "rldb/frontend/relay.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/onnx/model.h"
#include "rldb/ops/op_info.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_aot.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/file.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/prompt/repro_file.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/terminal/exit_code.h"
#include "ui/prompt/commands/binding_info.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/commands/loaded.h"
#include "ui/prompt/commands/versions.h"
#include "ui/prompt/entry/relay_entry.h"
#include "ui/prompt/example_file.h"
#include "ui/prompt/kernel_view.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// Of Relay text, which is loaded in one of two ways, and of executables.
std::string made_of(session::Session& session) {
  const ir::Module* m = session.module();
  if (!m) return fmt::format(" ({})", to_string(session.program()->kind()));
  if (m->entries.empty()) return "";
  const source::Buffer* text = session.sources().find(session.context().span_of(m->entries.front().function).file);
  return text && frontend::is_relay(text->name(), text->text()) ? ", translated to Relax" : "";
}

void list_functions(Repl& repl) {
  for (const ir::ModuleEntry& entry : repl.session().module()->entries) {
    constexpr std::size_t kColumns = 100;
    repl.print("{:<16} {}{}\n", kind_of_function(entry.function), entry.name,
               short_signature(entry.function, kColumns));
  }
}

// Of the code: functions and their sizes.
Status list_executable(Repl& repl) {
  source::Diagnostics diagnostics;
  const auto build = repl.session().viewable(diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !build) return Status::Failed;
  if (repl.wants_json()) return repl.give(disassembly_json(repl, *build->executable, -1));
  for (const bytecode::FunctionEntry& f : build->executable->functions)
    if (f.kind == bytecode::FunctionKind::Bytecode)
      repl.print("{}({}): {} instructions\n", f.name, fmt::join(f.param_names, ", "), f.end - f.start);
  return Status::Good;
}

Status no_function(Repl& repl, std::string_view name) {
  const std::vector<std::string> names = repl.session().function_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  source::Message m = source::message(diag::NoSuchThing, "function", name);
  const std::string_view near = source::nearest(name, views);
  m.hint =
      near.empty() ? fmt::format("functions: {}", fmt::join(names, ", ")) : fmt::format("did you mean `{}`?", near);
  return repl.fail(std::move(m));
}

Status no_program(Repl& repl) { return repl.fail(source::message(diag::NoProgram)); }

}  // namespace

Status list_program(Repl& repl) {
  const session::Program* program = repl.session().program();
  if (!program) return no_program(repl);
  if (const ir::Module* module = repl.session().module()) {
    if (repl.wants_json()) return repl.give(functions_json(module));
    list_functions(repl);
    return Status::Good;
  }
  return list_executable(repl);
}

Status tell_loaded(Repl& repl) {
  resolve_and_tell(repl);
  if (repl.wants_json()) return repl.give(program_json(repl));
  const std::vector<std::string> names = repl.session().function_names();
  repl.print("loaded {}{}: {}\n", repl.session().program_path(), made_of(repl.session()), fmt::join(names, ", "));
  return Status::Good;
}

// A new program: the run of the old one ends.
static Status loaded(Repl& repl, bool ok, const source::Diagnostics& diagnostics) {
  repl.report(diagnostics);
  if (!ok) return Status::Failed;
  repl.debugger().kill();
  repl.begin_run();
  return tell_loaded(repl);
}

Status command_Load(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.may_end_run("loading a program")) return Status::Failed;
  source::Diagnostics diagnostics;
  const auto document = here_document(rest);
  if (!document && is_run_file_at(std::string(rest))) return open_run(repl, std::string(rest));
  if (!document) {
    const bool ok = repl.session().load_file(example_file(repl, rest), diagnostics);
    return loaded(repl, ok, diagnostics);
  }
  const std::string name(document->first.empty() ? "<here>" : document->first);
  const bool ok = repl.session().load_text(name, std::string(document->body), diagnostics);
  return loaded(repl, ok, diagnostics);
}

Status command_ToRelax(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const session::RelayText* relay = session::relay_text(repl.session().program());
  if (!relay) return repl.fail(source::message(diag::NoRelayProgram));
  if (!repl.may_end_run("translating the program")) return Status::Failed;
  const source::Buffer& text = repl.session().sources().get(relay->source().file);
  session::Options& options = repl.session().options();
  const session::Machine before = std::exchange(options.machine, session::Machine::Relax);
  source::Diagnostics diagnostics;
  const bool ok = repl.session().load_text(relay->path(), std::string(text.text()), diagnostics);
  options.machine = before;
  return loaded(repl, ok, diagnostics);
}

Status command_Save(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  // gdb's `save breakpoints FILE` would write the module.
  if (const std::vector<std::string> words = split_words(rest); words.size() == 2 && words[0] == "breakpoints")
    return repl.fail(source::message(diag::BreakpointsNotSaved));
  if (rest.ends_with(".so") || rest.ends_with(".o"))
    return repl.fail(source::message(diag::AotName, rest, "a library, which `rldb build` makes", "a text"));
  if (rest.ends_with(".onnx") || rest.ends_with(".pt2")) return repl.fail(source::message(diag::OnnxNotExported, rest));
  if (!repl.may_write(rest, rest)) return Status::Failed;
  source::Diagnostics diagnostics;
  std::string bytes;
  if (rest.ends_with(".rlvm")) {
    auto made = debug::executable_file(repl.session(), diagnostics);
    if (repl.report(diagnostics) == Status::Failed || !made) return Status::Failed;
    bytes = std::move(*made);
  } else {
    if (!needs(repl, "`:save` of a text", session::kText)) return Status::Failed;
    const session::Program& program = *repl.session().program();
    bytes = *program.text(program.position(), session::TextFor::Saving);
  }
  if (!write_output(std::string(rest), bytes, repl.console())) return Status::Failed;
  repl.print("wrote {} ({} bytes)\n", rest, bytes.size());
  return Status::Good;
}

// The lines around a line of the current file.
// The lines that `make_window` chooses of the text at hand; `line` is the first one asked for.
template <class F>
static Status list_window(Repl& repl, std::uint64_t line, F make_window) {
  const source::FileId file = file_at_hand(repl);
  const source::Buffer* buffer = repl.session().sources().find(file);
  if (!buffer) return repl.fail(source::message(diag::NoSuchThing, "line", line));
  if (line == 0 || line > buffer->line_count())
    return repl.fail(
        source::message(diag::NoSuchLine, buffer->name(), line, support::counted(buffer->line_count(), "line")));
  LineWindow window = make_window(*buffer);
  const debug::Position& where = repl.debugger().last_stop().where;
  const bool stopped = repl.debugger().active() && where.span.file == file;
  window.current = stopped ? buffer->line_column(where.span.begin).line : 0;
  if (repl.wants_json()) return repl.give(lines_json(*buffer, window));
  show_source_lines(repl, file, window);
  return Status::Good;
}

static Status list_line(Repl& repl, std::uint64_t line) {
  return list_window(repl, line, [&](const source::Buffer& buffer) {
    return lines_around(buffer, std::uint32_t(line), repl.list_lines);
  });
}

// Up to the end of the text.
static Status list_lines(Repl& repl, std::uint64_t first, std::uint64_t last) {
  if (last < first) return Status::Usage;
  return list_window(repl, first, [&](const source::Buffer& buffer) {
    const std::uint64_t end = std::min<std::uint64_t>(last, buffer.line_count());
    return LineWindow{std::uint32_t(first), std::uint32_t(end), 0};
  });
}

// `10,20`.
static std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_lines(std::string_view text) {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto first = parse_count(trim(text.substr(0, comma))), last = parse_count(trim(text.substr(comma + 1)));
  if (!first || !last) return std::nullopt;
  return std::pair(*first, *last);
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
  if (rest.empty() || !repl.session().program()) return list_program(repl);
  if (!has_abilities(repl.session().program()->kind(), session::kText)) return command_Disasm(repl, rest);
  if (const auto line = parse_count(rest)) return list_line(repl, *line);
  if (const auto lines = parse_lines(rest)) return list_lines(repl, lines->first, lines->second);
  return command_Show(repl, rest);
}

static Status show_onnx(Repl& repl, const session::Program& program) {
  if (!program.onnx()) return repl.fail(source::message(diag::NotOnnx, program.path()));
  const std::string text = onnx::listing(*program.onnx()->model);
  if (repl.wants_json()) return repl.give(text_json({}, text));
  show_text(repl, text);
  return Status::Good;
}

Status command_Show(Repl& repl, std::string_view rest) {
  const session::Program& program = *repl.session().program();
  if (rest == "--onnx") return show_onnx(repl, program);
  const auto text = program.text(program.position(), session::TextFor::Reading, rest);
  if (!text) return no_function(repl, rest);
  if (repl.wants_json()) return repl.give(text_json(rest, *text));
  show_text(repl, *text);
  return Status::Good;
}

namespace {

// In the functions of a module, nested bodies included. False: there is no such variable.
bool uses_in_module(const ir::Module* module, std::string_view name, std::string_view function,
                    std::vector<VariableUse>& found) {
  bool known = false;
  for (const ir::ModuleEntry& entry : module->entries) {
    if (!function.empty() && entry.name != function) continue;
    const auto* f = ir::as<ir::Function>(entry.function);
    if (!f) continue;
    for (const ir::Var* p : f->params) known = known || p->name == name;
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* b = ir::as<ir::Binding>(n);
      if (!b) return true;
      known = known || b->var->name == name;
      bool uses = false;
      ir::walk(b->value, [&](const ir::Node* inner) {
        const auto* v = ir::as<ir::Var>(inner);
        uses = uses || (v && v->name == name);
        return true;
      });
      if (uses) found.push_back({std::string(entry.name), std::string(b->var->name), ir::print_binding(b), b});
      return true;
    });
    if (const auto* v = ir::as<ir::Var>(f->body->body); v && v->name == name)
      found.push_back({std::string(entry.name), {}, {}, nullptr});
  }
  return known;
}

// In the code of a program without a module. False: there is no such variable, or nothing to tell, which is diagnosed.
bool uses_in_code(Repl& repl, std::string_view name, std::string_view function, std::vector<VariableUse>& found) {
  bool known = false, any = false;
  for (const std::string& f : repl.session().function_names()) {
    if (!function.empty() && f != function) continue;
    const auto graph = debug::binding_graph(repl.debugger(), repl.session(), f, repl.frame());
    if (!graph) continue;
    any = any || !graph->nodes.empty();
    for (const debug::GraphNode& n : graph->nodes) {
      if (n.name != name) continue;
      known = true;
      for (const int user : n.users) {
        const debug::GraphNode& u = graph->nodes[std::size_t(user)];
        found.push_back({f, u.name, fmt::format("{}: {}", u.name, u.value), nullptr});
      }
      if (n.result) found.push_back({f, {}, {}, nullptr});
    }
  }
  if (!any)
    known = needs(repl, "`:uses` in code without debug information", session::kModule);
  else if (!known)
    repl.fail(source::message(diag::NoSuchThing, "variable", name));
  return known;
}

}  // namespace

Status command_Uses(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.empty() || words.size() > 2) return Status::Usage;
  if (!needs(repl, "`:uses`", 0)) return Status::Failed;
  const ir::Module* module = repl.session().module();
  const std::string_view function = words.size() == 2 ? std::string_view(words[1]) : std::string_view();
  std::vector<VariableUse> found;
  if (!module && !uses_in_code(repl, words[0], function, found)) return Status::Failed;
  if (module && !uses_in_module(module, words[0], function, found))
    return repl.fail(source::message(diag::NoSuchThing, "variable", words[0]));
  if (repl.wants_json()) return repl.give(uses_json(repl, words[0], found));
  for (const VariableUse& use : found)
    repl.print("{}: {}\n", use.function, use.name.empty() ? "return " + words[0] : use.text);
  if (found.empty()) repl.print("no uses of {}\n", words[0]);
  return Status::Good;
}

// `:verify --test=COMMAND`: fails if the command finds the fault, that is, ends with 0.
static Status ask_command(Repl& repl, const std::string& command) {
  if (!needs(repl, "`:verify --test`", session::kModule)) return Status::Failed;
  if (!repl.may("run a shell", command)) return Status::Failed;
  const std::string text = module_text(repl.session().module(), repl.session().print_options());
  const repro::CommandAnswer answer = repro::ask_test_command(command, text);
  const std::optional<int> code = answer.code;
  if (repl.wants_json()) repl.give(Json{{"finds_the_fault", code == 0}});
  if (code == 0) return repl.fail(source::message(diag::CommandFindsFault, command));
  if (const std::string why = repro::why_no_answer(command, answer); !why.empty())
    return repl.fail(source::message(diag::CannotTell, why));
  if (!repl.wants_json()) repl.print("the command does not find the fault\n");
  return Status::Good;
}

// `:verify --test-server=COMMAND`: the same question to a partner, on the inputs of the session.
static Status ask_partner(Repl& repl, const repro::PartnerOptions& options) {
  if (!needs(repl, "`:verify --test-server`", session::kModule)) return Status::Failed;
  if (!repl.may("run a shell", options.command)) return Status::Failed;
  std::string why;
  const auto partner = repro::Partner::start(options, why);
  if (!partner) return repl.fail(source::message(diag::PartnerOfNoUse, options.command, why));
  repro::Question question;
  question.kind = repro::OracleKind::Command;
  question.partner = partner.get();
  repro::Oracle oracle(repl.session(), question);
  const auto symptom = oracle.ask(repl.session().module());
  if (repl.wants_json()) repl.give(Json{{"finds_the_fault", symptom.has_value()}});
  if (symptom) {
    if (!repl.wants_json()) repl.print("{}: {}\n", to_string(symptom->kind), symptom->text);
    return repl.fail(source::message(diag::CommandFindsFault, options.command));
  }
  for (const std::string& reason : {oracle.why(), oracle.unseen()})
    if (!reason.empty()) return repl.fail(source::message(diag::CannotTell, reason));
  if (!repl.wants_json()) repl.print("the partner gets the same result\n");
  return Status::Good;
}

Status command_Verify(Repl& repl, std::string_view rest) {
  constexpr std::string_view kTest = "--test=", kServer = "--test-server=", kPasses = "--partner-passes=";
  bool roundtrip = false;
  std::string test;
  repro::PartnerOptions partner;
  for (const std::string& word : split_words(rest)) {
    roundtrip = roundtrip || word == "--roundtrip";
    if (word.starts_with(kTest) && word.size() > kTest.size())
      test = word.substr(kTest.size());
    else if (word.starts_with(kServer) && word.size() > kServer.size())
      partner.command = word.substr(kServer.size());
    else if (word.starts_with(kPasses) && word.size() > kPasses.size())
      partner.passes = word.substr(kPasses.size());
    else if (word != "--roundtrip")
      return Status::Usage;
  }
  if (!test.empty()) return ask_command(repl, test);
  if (!partner.command.empty()) return ask_partner(repl, partner);
  if (!partner.passes.empty()) return Status::Usage;
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

// Did the step to this version leave the program unchanged? Such a version is skipped.
static bool changed_nothing(const session::Program& program, std::size_t version) {
  return version > 0 && program.is_same(version, version - 1);
}

Status command_Undo(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const session::Program& program = *repl.session().program();
  std::size_t at = program.position();
  while (at > 0 && changed_nothing(program, at)) --at;
  if (can_take_back_definitions(repl, at)) return take_back_definitions(repl);
  if (program.position() == 0) return repl.fail(source::message(diag::NoMoreVersions, "undo"));
  return go_to_version(repl, at == 0 ? 0 : at - 1);
}

Status command_Redo(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const session::Program& program = *repl.session().program();
  std::size_t to = program.position() + 1;
  if (to >= program.version_count()) return repl.fail(source::message(diag::NoMoreVersions, "redo"));
  while (to + 1 < program.version_count() && changed_nothing(program, to)) ++to;
  return go_to_version(repl, to);
}

Status command_Rewind(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const auto version = version_of(repl, std::string(rest));
  return version ? go_to_version(repl, *version) : Status::Failed;
}

}  // namespace rldb::ui
