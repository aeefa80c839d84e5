// rldb opt FILE --passes=...: runs passes and prints the module.
#include <algorithm>

#include "rldb/passes/option_error.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/repro/validate.h"
#include "rldb/session/relay_text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/page/document.h"
#include "rldb/ui/prompt/rewrite_file.h"
#include "rldb/ui/render/memory_view.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/page.h"
#include "rldb/ui/render/report_page.h"
#include "ui/batch/opt_instruments.h"
#include "ui/batch/page_values.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

// Applies each file of rules in turn; with --validate-each the values before and after it are compared.
int rewrite(const CommandLine& line, session::Session& session, Console& console) {
  for (const std::string& path : line.opt.rewriters) {
    source::Diagnostics diagnostics;
    const ir::Module* before = session.module();
    const std::optional<std::size_t> count = rewrite_by_file(session, path, diagnostics);
    if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
    if (!count) return kFailed;
    console.print_error("# {}: {} replaced\n", path, *count);
    if (!line.opt.validate_each || *count == 0) continue;
    const repro::Validation result = repro::validate_versions(session, before, session.module());
    console.print_error("# validate {}: {}\n", path, repro::to_string(result));
    if (!result.difference.empty()) return kFailed;
    if (result.compared.empty()) return kCannotTell;
  }
  return kGood;
}

// False: diagnosed.
bool write_memory_report(const CommandLine& line, session::Session& session, Console& console) {
  source::Diagnostics diagnostics;
  passes::PassEnv env{session.context(), diagnostics};
  auto functions = passes::memory_of(env, session.module(), line.options.dims);
  if (!functions.ok()) {
    diagnostics.add({}, std::move(functions).error());
    report(diagnostics, session.sources(), line, console);
    return false;
  }
  const MemoryView view = memory_view(session, MemoryView().width);
  if (line.opt.memory_report == "-") {
    console.error(memory_text(*functions, view));
    return true;
  }
  return write_output(line.opt.memory_report, render_memory(*functions, memory_format(line.opt.memory_report), view),
                      console);
}

MemoryPlan memory_plan(const CommandLine& line, session::Session& session, const ir::Module* module) {
  source::Diagnostics diagnostics;
  passes::PassEnv env{session.context(), diagnostics};
  auto functions = passes::memory_of(env, module, line.options.dims);
  if (functions.ok()) return {*std::move(functions), {}};
  return {{}, functions.error().text};
}

// False: diagnosed.
bool write_html(const CommandLine& line, session::Session& session, pipeline::ModuleRef before,
                const std::vector<pipeline::Record>& records, const ValidateEach& validations,
                const source::Diagnostics& diagnostics, bool failed, const std::optional<PageRun>& run,
                Console& console) {
  const session::Program& program = *session.program();
  PipelineReport report{program};
  report.file = line.files[0];
  report.passes = line.passes;
  report.after = program.history().current();
  report.failed = failed;
  report.records = records;
  report.validations = validations.results();
  report.diagnostics = source::render(diagnostics, session.sources(), {});
  if (session.module()) {
    report.memory_before = memory_plan(line, session, before.as<ir::Module>());
    report.memory_after = memory_plan(line, session, session.module());
  }
  report.memory_view = memory_view(session, MemoryView().width);
  const std::string title = "rldb opt: " + report.file;
  const PageReplies values = run ? page_values(session, before.as<ir::Module>(), *run) : PageReplies();
  const std::string page = session.module() ? static_document(session, title, report_body(report, made_by()), values)
                                            : report_page(report, made_by());
  return write_output(line.opt.html, page, console);
}

// For an unknown pass, `--print-ir-before=X` would print nothing, as if X did not run. False: diagnosed.
bool names_passes(const CommandLine& line, session::Session& session, source::Diagnostics& out) {
  for (const auto* names : {&line.opt.print_ir_before, &line.opt.print_ir_after})
    for (const std::string& name : *names)
      if (name != "*" && !pipeline::parse(session.program()->passes(), name, session.sources(), out)) return false;
  return true;
}

// Saves a finding as a script, in the file of the line or else in a folder of rldb's. False: diagnosed.
bool keep(const ReproFile& repro, const CommandLine& line, Console& console) {
  if (!line.save_repro.empty()) return write_repro(line.save_repro, repro, console);
  keep_repro("failed-passes", repro, console);
  return true;
}

bool is_option_error(const source::Diagnostics& found) {
  return std::any_of(found.all().begin(), found.all().end(),
                     [](const source::Diagnostic& d) { return passes::is_option_error(d.id); });
}

// The passes of a line with their instruments, and everything that is reported about them.
class Optimisation {
 public:
  Optimisation(const CommandLine& line, session::Session& session, Console& console)
      : line_(line),
        session_(session),
        console_(console),
        limit_(line.opt.bisect_limit.value_or(-1), announcement()),
        printer_(line, session, console),
        dumper_(line, session, console),
        validator_(session, console) {}

  int run(const std::vector<pipeline::Invocation>& passes) {
    const pipeline::ModuleRef loaded = session_.program()->history().current();
    source::Diagnostics found;
    // Before the passes, which may change the parameters.
    std::optional<PageRun> values;
    if (!line_.inputs.empty() && session_.module()) {
      values = page_run(session_, line_.inputs, found);
      if (!values) {
        report(found, session_.sources(), line_, console_);
        return kUsage;
      }
    }
    const bool ok = session_.program()->run_passes(passes, found, instruments());
    if (!ok || !found.all().empty()) report(found, session_.sources(), line_, console_);
    if (line_.opt.time_passes) print_times(recorder_.records, line_, session_, console_);
    const bool told = line_.opt.html.empty() ||
                      write_html(line_, session_, loaded, recorder_.records, validator_, found, !ok, values, console_);
    if (!ok) return failed(found);
    if (!write_module()) return kUsage;
    if (!line_.opt.memory_report.empty() && !write_memory_report(line_, session_, console_)) return kFailed;
    if (!told) return kUsage;
    if (const pipeline::Record* record = validator_.changed_values()) {
      const std::string seen = "values differ: " + validator_.difference();
      (void)keep(repro_of_changed_values(line_, session_, *record, seen), line_, console_);
      return kFailed;
    }
    return !dumper_.ok() ? kFailed : validator_.could_tell() ? kGood : kCannotTell;
  }

 private:
  // LLVM's wording, for which scripts search.
  pipeline::BisectLimit::Announce announcement() const {
    if (!line_.opt.bisect_limit) return {};
    return [this](std::size_t number, const pipeline::Invocation& pass, bool runs) {
      console_.print_error("BISECT: {}running pass ({}) {}\n", runs ? "" : "NOT ", number, pipeline::to_string(pass));
    };
  }

  pipeline::Instruments instruments() {
    pipeline::Instruments all{&limit_, &recorder_, &printer_};
    if (!line_.opt.dump_ir_to.empty()) all.push_back(&dumper_);
    if (line_.opt.validate_each) all.push_back(&validator_);
    return all;
  }

  int failed(const source::Diagnostics& found) {
    if (is_option_error(found)) return kUsage;
    if (recorder_.records.empty()) return kFailed;
    const std::string seen = found.first_error("the pass failed");
    (void)keep(repro_of_failed_pass(line_, session_, recorder_.records.back(), seen), line_, console_);
    return kFailed;
  }

  bool write_module() {
    const session::Program& program = *session_.program();
    const auto purpose = line_.output.empty() ? session::TextFor::Reading : session::TextFor::Saving;
    return write_output(line_.output, *program.text(program.position(), purpose) + "\n", console_);
  }

  const CommandLine& line_;
  session::Session& session_;
  Console& console_;
  pipeline::BisectLimit limit_;
  pipeline::Recorder recorder_;
  PrintIr printer_;
  DumpIr dumper_;
  ValidateEach validator_;
};

}  // namespace

int batch_opt(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  if (session::RelayText* relay = session::relay_text(session->program()); relay && !line.function.empty())
    relay->set_entry(line.function);
  source::Diagnostics found;
  std::optional<std::vector<pipeline::Invocation>> passes(std::in_place);
  if (!line.passes.empty())
    passes = pipeline::parse(session->program()->passes(), line.passes, session->sources(), found);
  if (!passes || !names_passes(line, *session, found)) return fail(found, session->sources(), line, console, kUsage);
  if (const int code = rewrite(line, *session, console); code != kGood) return code;
  return Optimisation(line, *session, console).run(*passes);
}

}  // namespace rldb::ui
