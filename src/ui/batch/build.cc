// rldb build FILE -o OUTPUT and rldb disasm FILE.
#include "rldb/aot/build.h"

#include <filesystem>

#include "rldb/aot/kernel_functions.h"
#include "rldb/debug/file_names.h"
#include "rldb/frontend/relay.h"
#include "rldb/session/relay_text.h"
#include "rldb/source/diagnostic_aot.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/render/output_file.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kForms[] = {"an executable (.rlvm, .ro)", "a shared library (.so)", "an object file (.o)",
                                       "a program"};

// The name of the output says it, or a word; they must not contradict each other.
std::optional<aot::Form> asked_for(const CommandLine& line, source::Diagnostics& out) {
  const auto by_name = aot::form_of_name(line.output);
  auto by_word = aot::form_of_word(line.build.emit);
  if (line.build.standalone) by_word = aot::Form::Program;
  if (by_name && by_word && *by_name != *by_word) {
    out.add({},
            source::message(diag::AotName, line.output, kForms[std::size_t(*by_name)], kForms[std::size_t(*by_word)]));
    return std::nullopt;
  }
  // Standard output and devices have no name that says it, and a library is several files.
  const bool stream = line.output == "-" || line.output.starts_with("/dev/");
  if (stream && by_word && *by_word != aot::Form::Executable) {
    out.add({}, source::message(diag::AotName, line.output, "a stream", kForms[std::size_t(*by_word)]));
    return std::nullopt;
  }
  if (stream) return aot::Form::Executable;
  const auto form = by_word ? by_word : by_name;
  std::error_code none;
  if (form && form != by_name && std::filesystem::equivalent(line.files[0], line.output, none)) {
    out.add({}, source::message(diag::AotName, line.output, "the module that is built", kForms[std::size_t(*form)]));
    return std::nullopt;
  }
  if (form) return form;
  out.add({}, source::message(diag::AotForm, line.output));
  return std::nullopt;
}

// A library's code is the Relax VM's: Relay text was translated.
void note_translation(session::Session& session, source::Diagnostics& out) {
  const ir::Module* m = session.module();
  if (!m || m->entries.empty()) return;
  const source::Buffer* text = session.sources().find(session.context().span_of(m->entries.front().function).file);
  if (text && frontend::is_relay(text->name(), text->text()))
    out.add({}, source::message(diag::AotTranslated, text->name() == "-" ? "standard input" : text->name()));
}

int build_library(session::Session& session, aot::Form form, const CommandLine& line, Console& console,
                  source::Diagnostics diagnostics) {
  aot::Request request{form, line.output, std::nullopt, line.build.linker};
  if (session.module()) {
    auto build = session.build(diagnostics);
    if (build) request.names = debug::names_for_file(std::move(build), session);
  }
  const auto files = diagnostics.has_errors() ? std::nullopt : aot::build(session, request, diagnostics);
  if (!files || !diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!files) return kFailed;
  for (const std::string& f : *files) console.write("wrote " + f + "\n");
  return kGood;
}

}  // namespace

int batch_build(const CommandLine& line, Console& console) {
  source::Diagnostics refused;
  const auto form = asked_for(line, refused);
  if (!form) return fail(refused, {}, line, console, kUsage);
  CommandLine asked = line;
  const bool library = *form != aot::Form::Executable;
  if (library) asked.options.machine = session::Machine::Relax;
  auto session = open_session(asked, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], asked, console); code != kGood) return code;
  source::Diagnostics diagnostics;
  // A library can be made of an executable that has its kernels' TensorIR; an executable is there already.
  if (auto refusal = *form == aot::Form::Executable
                         ? session::missing_ability("`rldb build` of an executable", session::kText, *session)
                         : std::nullopt) {
    diagnostics.add({}, *std::move(refusal));
    return fail(diagnostics, session->sources(), line, console, kBadText);
  }
  if (line.output.ends_with(".ro") && !session::relay_text(session->program())) {
    diagnostics.add(
        {}, source::message(diag::AotName, line.output, "an executable of the Relay VM", "one of the Relax VM"));
    return fail(diagnostics, session->sources(), line, console, kUsage);
  }
  if (library && line.options.machine != session::Machine::Relax) note_translation(*session, diagnostics);
  if (const ir::Module* m = session->module()) {
    const bool called_from_c = *form == aot::Form::SharedLibrary || *form == aot::Form::Object;
    const ir::Module* made = aot::with_kernel_functions(session->context(), m, !called_from_c);
    if (made != m) session->set_program(made);
  }
  // Followed by the minimum build, `zero` is `cpu_generic`.
  if (line.build.optimise && !session->run_passes("zero", diagnostics)) {
    report(diagnostics, session->sources(), line, console);
    return kFailed;
  }
  if (library) return build_library(*session, *form, line, console, std::move(diagnostics));
  auto bytes = debug::executable_file(*session, diagnostics);
  if (!bytes || !diagnostics.all().empty()) report(diagnostics, session->sources(), line, console);
  if (!bytes) return kFailed;
  return write_output(line.output, *bytes, console) ? kGood : kUsage;
}

int print_listing(session::Session& session, const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  const auto built = session.viewable(diagnostics);
  if (!built || !diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (!built) return kFailed;
  console.write(session.program()->listing(*built));
  return kGood;
}

int batch_disasm(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  return print_listing(*session, line, console);
}

}  // namespace rldb::ui
