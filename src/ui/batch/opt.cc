// rldb opt FILE --passes=...: run passes and print the module.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "rldb/ir/printer.h"
#include "rldb/repro/validate.h"
#include "rldb/source/diagnostic_general.h"
#include "ui/batch/batch.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

class PassObserver {
 public:
  PassObserver(const CommandLine& line, session::Session& session, Console& console)
      : line_(line), session_(session), console_(console) {}

  bool ok() const { return ok_; }

  void after(const passes::PassRecord& record) {
    records_.push_back(record);
    if (!record.after) return;
    const bool changed = !record.changed.empty();
    const std::string name = passes::to_string(record.pass);
    if (line_.print_ir_after_change && changed)
      console_.error(fmt::format("# IR after {}\n{}\n", name, ir::print(record.after, line_.options.print)));
    if (!line_.print_changed.empty()) print_diff(record, name, changed);
    if (!line_.dump_ir_to.empty()) dump(record);
    if (line_.validate_each && changed) validate(record, name);
  }

  void print_times() const {
    std::uint64_t total = 0;
    for (const passes::PassRecord& r : records_) total += r.nanoseconds;
    console_.error("# pass times\n");
    for (const passes::PassRecord& r : records_)
      console_.print_error("# {:>10}  {:4.1f} %  {}\n", format_duration(r.nanoseconds),
                           total ? 100.0 * double(r.nanoseconds) / double(total) : 0.0, passes::to_string(r.pass));
    console_.print_error("# {:>10}  total\n", format_duration(total));
  }

 private:
  void print_diff(const passes::PassRecord& record, const std::string& name, bool changed) {
    if (!changed) {
      console_.print_error("# {}: no change\n", name);
      return;
    }
    DiffOptions options;
    options.color = console_.color();
    console_.print_error("# {} changed {}\n", name, fmt::join(record.changed, ", "));
    console_.error(unified_diff(ir::print(record.before, line_.options.print),
                                ir::print(record.after, line_.options.print), "before " + name, "after " + name,
                                options));
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
    ok_ = write_output(path, ir::print(record.after, print), console_) && ok_;
  }

  void validate(const passes::PassRecord& record, const std::string& name) {
    const repro::Validation result = repro::validate_versions(session_, record.before, record.after);
    console_.print_error("# validate {}: {}\n", name, repro::to_string(result));
    if (!result.difference.empty()) ok_ = false;
  }

  const CommandLine& line_;
  session::Session& session_;
  Console& console_;
  std::vector<passes::PassRecord> records_;
  bool ok_ = true;
};

}  // namespace

int batch_opt(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session || !load(*session, line.files[0], line, console)) return kBadText;
  if (auto parsed = passes::parse_pipeline(line.passes); !parsed.ok()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, std::move(parsed).error());
    report(diagnostics, *session, line, console);
    return kUsage;
  }
  PassObserver observer(line, *session, console);
  passes::RunOptions run;
  run.verify_each = line.verify_each;
  run.bisect_limit = line.bisect_limit;
  run.after = [&](const passes::PassRecord& record) { observer.after(record); };
  source::Diagnostics diagnostics;
  const bool ok = session->run_passes(line.passes, diagnostics, run);
  if (!ok || !diagnostics.all().empty()) report(diagnostics, *session, line, console);
  if (line.time_passes) observer.print_times();
  if (!ok) return kFailed;
  ir::PrintOptions print = line.options.print;
  print.show_meta = !line.output.empty();
  if (!write_output(line.output, ir::print(session->module(), print), console)) return kUsage;
  return observer.ok() ? kGood : kFailed;
}

}  // namespace rldb::ui
