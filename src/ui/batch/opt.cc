// rldb opt FILE --passes=...: runs passes and prints the module.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rldb/ir/printer.h"
#include "rldb/passes/option_error.h"
#include "rldb/repro/validate.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/rewrite_file.h"
#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/memory_view.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/page.h"
#include "rldb/ui/render/report_page.h"
#include "rldb/ui/render/text_diff.h"
#include "ui/batch/relay_opt.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

class PassObserver {
 public:
  PassObserver(const CommandLine& line, session::Session& session, Console& console)
      : line_(line), session_(session), console_(console) {}

  bool ok() const { return ok_; }
  // False: values were to be validated, but no pass left a function that ran on both sides.
  bool could_tell() const { return !nothing_ran_; }

  void before(const passes::PassInvocation& pass, const ir::Module* module) {
    if (line_.bisect_limit) announce(pass, true);
    if (is_named(line_.print_ir_before, pass)) print_ir("before", passes::to_string(pass), module);
  }

  // A pass beyond the limit.
  void left_out(const passes::PassInvocation& pass) { announce(pass, false); }

  void after(const passes::PassRecord& record) {
    records_.push_back(record);
    if (!record.after) return;
    const bool changed = !record.changed.empty();
    const std::string name = passes::to_string(record.pass);
    const bool wanted = is_named(line_.print_ir_after, record.pass);
    const bool on_change = line_.print_ir_after_change || line_.print_changed == "quiet";
    if (wanted || (on_change && changed)) print_ir("after", name, record.after);
    if (line_.print_changed == "diff" || line_.print_changed == "cdiff") print_diff(record, name, changed);
    if (!line_.dump_ir_to.empty()) dump(record);
    if (line_.validate_each && changed) validate(record, name);
  }

  const std::vector<passes::PassRecord>& records() const { return records_; }
  // For records()[first]: the result of comparing values.
  const std::vector<std::pair<std::size_t, std::string>>& validations() const { return validations_; }

  // Saves a failed pass as a script that reproduces the failure.
  void keep_failure(const source::Diagnostics& found) {
    if (records_.empty()) return;
    keep(repro_of_failed_pass(line_, session_, records_.back(), found.first_error("the pass failed")));
  }

  void print_times() const {
    if (line_.format == Format::Json) return print_times_as_json();
    std::uint64_t total = 0;
    for (const passes::PassRecord& r : records_) total += r.nanoseconds;
    console_.error("# pass times\n");
    for (const passes::PassRecord& r : records_)
      console_.print_error("# {:>10}  {:4.1f} %  {}\n", format_duration(r.nanoseconds),
                           total ? 100.0 * double(r.nanoseconds) / double(total) : 0.0, passes::to_string(r.pass));
    console_.print_error("# {:>10}  total\n", format_duration(total));
  }

 private:
  void print_times_as_json() const {
    Json passes = Json::array();
    std::uint64_t total = 0;
    for (const passes::PassRecord& r : records_) {
      total += r.nanoseconds;
      passes.push_back(pass_record_json(r, line_.options.print));
    }
    console_.error(Json{{"passes", std::move(passes)}, {"nanoseconds", total}}.dump(2) + "\n");
  }

  static bool is_named(const std::vector<std::string>& names, const passes::PassInvocation& pass) {
    const std::string_view name = passes::info(pass.id).name;
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n == "*" || n == name; });
  }

  void print_ir(std::string_view when, const std::string& name, const ir::Module* module) {
    console_.error(fmt::format("# IR {} {}\n{}\n", when, name, ir::print(module, line_.options.print)));
  }

  // LLVM's wording, for which scripts search.
  void announce(const passes::PassInvocation& pass, bool runs) {
    console_.print_error("BISECT: {}running pass ({}) {}\n", runs ? "" : "NOT ", ++announced_, passes::to_string(pass));
  }

  void print_diff(const passes::PassRecord& record, const std::string& name, bool changed) {
    if (!changed) {
      console_.print_error("# {}: no change\n", name);
      return;
    }
    DiffOptions options = diff_options(line_, console_, STDERR_FILENO);
    options.color = options.color || line_.print_changed == "cdiff";
    console_.print_error("# {} changed {}\n", name, fmt::join(record.changed, ", "));
    console_.error(text_diff(ir::print(record.before, line_.options.print),
                             ir::print(record.after, line_.options.print), "before " + name, "after " + name, options));
  }

  void dump(const passes::PassRecord& record) {
    if (::mkdir(line_.dump_ir_to.c_str(), 0777) != 0 && errno != EEXIST) {
      source::Diagnostics d;
      d.add({}, source::message(diag::FileNotWritten, line_.dump_ir_to, std::strerror(errno)));
      console_.diagnose(d, session_.sources());
      ok_ = false;
      return;
    }
    const std::string path =
        fmt::format("{}/{:03}_{}.py", line_.dump_ir_to, records_.size() - 1, passes::info(record.pass.id).name);
    ir::PrintOptions print = line_.options.print;
    print.show_meta = true;
    ok_ = write_output(path, ir::print(record.after, print) + "\n", console_) && ok_;
  }

  void validate(const passes::PassRecord& record, const std::string& name) {
    const repro::Validation result =
        repro::validate_versions(session_, record.before, record.after, passes::info(record.pass.id).name);
    validations_.emplace_back(records_.size() - 1, repro::to_string(result));
    console_.print_error("# validate {}: {}\n", name, validations_.back().second);
    if (!result.difference.empty()) {
      ok_ = false;
      keep(repro_of_changed_values(line_, session_, record, "values differ: " + result.difference));
    }
    nothing_ran_ = nothing_ran_ || result.compared.empty();
  }

  // Saves the first fault to the file of the line, or to a default folder.
  void keep(const ReproFile& repro) {
    if (std::exchange(kept_, true)) return;
    if (line_.save_repro.empty())
      keep_repro("failed-passes", repro, console_);
    else
      ok_ = write_repro(line_.save_repro, repro, console_) && ok_;
  }

  const CommandLine& line_;
  session::Session& session_;
  Console& console_;
  std::vector<passes::PassRecord> records_;
  std::vector<std::pair<std::size_t, std::string>> validations_;
  int announced_ = 0;
  bool ok_ = true;
  bool kept_ = false;         // a script was written
  bool nothing_ran_ = false;  // a validation that had nothing to compare
};

// Applies each file of rules in turn; with --validate-each the values before and after it are compared.
int rewrite(const CommandLine& line, session::Session& session, Console& console) {
  for (const std::string& path : line.rewriters) {
    source::Diagnostics diagnostics;
    const ir::Module* before = session.module();
    const std::optional<std::size_t> count = rewrite_by_file(session, path, diagnostics);
    if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
    if (!count) return kFailed;
    console.print_error("# {}: {} replaced\n", path, *count);
    if (!line.validate_each || *count == 0) continue;
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
  if (line.memory_report == "-") {
    console.error(memory_text(*functions, view));
    return true;
  }
  return write_output(line.memory_report, render_memory(*functions, memory_format(line.memory_report), view), console);
}

MemoryPlan memory_plan(const CommandLine& line, session::Session& session, const ir::Module* module) {
  source::Diagnostics diagnostics;
  passes::PassEnv env{session.context(), diagnostics};
  auto functions = passes::memory_of(env, module, line.options.dims);
  if (functions.ok()) return {*std::move(functions), {}};
  return {{}, functions.error().text};
}

// False: diagnosed.
bool write_html(const CommandLine& line, session::Session& session, const ir::Module* before,
                const PassObserver& observer, const source::Diagnostics& diagnostics, bool failed, Console& console) {
  PipelineReport report;
  report.file = line.files[0];
  report.pipeline = line.passes;
  report.before = before;
  report.after = session.module();
  report.failed = failed;
  report.records = observer.records();
  report.validations = observer.validations();
  report.diagnostics = source::render(diagnostics, session.sources(), {});
  report.memory_before = memory_plan(line, session, before);
  report.memory_after = memory_plan(line, session, session.module());
  report.memory_view = memory_view(session, MemoryView().width);
  report.print = line.options.print;
  return write_output(line.html, report_page(report, made_by()), console);
}

// For an unknown pass, `--print-ir-before=X` would print nothing, as if X did not run.
bool names_passes(const CommandLine& line, source::Message& wrong) {
  for (const auto* names : {&line.print_ir_before, &line.print_ir_after})
    for (const std::string& name : *names)
      if (name != "*")
        if (auto parsed = passes::parse_pipeline(name); !parsed.ok()) {
          wrong = std::move(parsed).error();
          return false;
        }
  return true;
}

}  // namespace

int batch_opt(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  if (const session::RelayText* relay = session::relay_text(session->program()))
    return batch_opt_relay(*session, *relay, line, console);
  using Pipeline = std::vector<passes::PassInvocation>;
  auto pipeline = line.passes.empty() ? ir::Result<Pipeline>(Pipeline()) : passes::parse_pipeline(line.passes);
  source::Message wrong_name;
  if (!pipeline.ok() || !names_passes(line, wrong_name)) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, pipeline.ok() ? std::move(wrong_name) : std::move(pipeline).error());
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  if (const int code = rewrite(line, *session, console); code != kGood) return code;
  PassObserver observer(line, *session, console);
  const ir::Module* const loaded = session->module();
  passes::RunOptions run;
  run.verify_each = line.verify_each;
  run.bisect_limit = line.bisect_limit.value_or(-1);
  run.before = [&](const passes::PassInvocation& pass, const ir::Module* module) {
    observer.before(pass, module);
    return true;
  };
  run.after = [&](const passes::PassRecord& record) { observer.after(record); };
  source::Diagnostics diagnostics;
  const bool ok = pipeline->empty() || session->run_passes(line.passes, diagnostics, run);
  if (!ok || !diagnostics.all().empty()) report(diagnostics, session->sources(), line, console);
  if (run.bisect_limit >= 0)
    for (std::size_t i = std::size_t(run.bisect_limit); i < pipeline->size(); ++i) observer.left_out((*pipeline)[i]);
  if (line.time_passes) observer.print_times();
  const bool told = line.html.empty() || write_html(line, *session, loaded, observer, diagnostics, !ok, console);
  if (!ok) {
    const auto& all = diagnostics.all();
    if (std::any_of(all.begin(), all.end(), [](const auto& d) { return passes::is_option_error(d.id); })) return kUsage;
    observer.keep_failure(diagnostics);
    return kFailed;
  }
  ir::PrintOptions print = line.options.print;
  print.show_meta = !line.output.empty();
  if (!write_output(line.output, ir::print(session->module(), print) + "\n", console)) return kUsage;
  if (!line.memory_report.empty() && !write_memory_report(line, *session, console)) return kFailed;
  if (!told) return kUsage;
  if (!observer.ok()) return kFailed;
  return observer.could_tell() ? kGood : kCannotTell;
}

}  // namespace rldb::ui
