// Texts, files and values around each pass of `rldb opt`.
#include "ui/batch/opt_instruments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rldb/repro/program_passes.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

using pipeline::Record;
using session::TextFor;

namespace {

bool is_named(const std::vector<std::string>& names, const pipeline::Invocation& pass) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n == "*" || n == pass.name(); });
}

}  // namespace

// ---- printing ----

void PrintIr::print(std::string_view when, const pipeline::Invocation& pass, pipeline::ModuleRef module) {
  const std::string text = *session_.program()->text_of(module, TextFor::Reading);
  console_.error(fmt::format("# IR {} {}\n{}\n", when, pipeline::to_string(pass), text));
}

void PrintIr::before(const pipeline::Invocation& pass, pipeline::ModuleRef module) {
  if (is_named(line_.opt.print_ir_before, pass)) print("before", pass, module);
}

pipeline::Result<support::Unit> PrintIr::after(const Record& record) {
  const bool on_change = line_.opt.print_ir_after_change || line_.opt.print_changed == "quiet";
  if (is_named(line_.opt.print_ir_after, record.pass) || (on_change && !record.changed.empty()))
    print("after", record.pass, record.after);
  if (line_.opt.print_changed == "diff" || line_.opt.print_changed == "cdiff") print_diff(record);
  return support::Unit{};
}

void PrintIr::print_diff(const Record& record) {
  const std::string name = pipeline::to_string(record.pass);
  if (record.changed.empty()) return console_.print_error("# {}: no change\n", name);
  DiffOptions options = diff_options(line_, console_, STDERR_FILENO);
  options.color = options.color || line_.opt.print_changed == "cdiff";
  console_.print_error("# {} changed {}\n", name, fmt::join(record.changed, ", "));
  const session::Program& program = *session_.program();
  console_.error(text_diff(*program.text_of(record.before, TextFor::Comparing),
                           *program.text_of(record.after, TextFor::Comparing), "before " + name, "after " + name,
                           options));
}

// ---- dumps ----

pipeline::Result<support::Unit> DumpIr::after(const Record& record) {
  const std::size_t number = count_++;
  if (::mkdir(line_.opt.dump_ir_to.c_str(), 0777) != 0 && errno != EEXIST) {
    source::Diagnostics d;
    d.add({}, source::message(diag::FileNotWritten, line_.opt.dump_ir_to, std::strerror(errno)));
    console_.diagnose(d, session_.sources());
    ok_ = false;
    return support::Unit{};
  }
  const session::Program& program = *session_.program();
  const std::string path =
      fmt::format("{}/{:03}_{}{}", line_.opt.dump_ir_to, number, record.pass.name(), program.extension());
  ok_ = write_output(path, *program.text_of(record.after, TextFor::Saving) + "\n", console_) && ok_;
  return support::Unit{};
}

// ---- values ----

pipeline::Result<support::Unit> ValidateEach::after(const Record& record) {
  const std::size_t number = count_++;
  if (record.changed.empty()) return support::Unit{};
  const repro::Validation result = repro::validate_program(session_, record.before, record.after, record.pass.name());
  results_.emplace_back(number, repro::to_string(result));
  console_.print_error("# validate {}: {}\n", pipeline::to_string(record.pass), results_.back().second);
  if (!result.difference.empty() && !first_.pass.pass) {
    first_ = record;
    difference_ = result.difference;
  }
  could_tell_ = could_tell_ && !result.compared.empty();
  return support::Unit{};
}

// ---- times ----

void print_times(const std::vector<Record>& records, const CommandLine& line, const session::Session& session,
                 Console& console) {
  std::uint64_t total = 0;
  for (const Record& r : records) total += r.nanoseconds;
  if (line.format == Format::Json) {
    Json passes = Json::array();
    for (const Record& r : records) passes.push_back(pass_record_json(*session.program(), r));
    console.error(Json{{"passes", std::move(passes)}, {"nanoseconds", total}}.dump(2) + "\n");
    return;
  }
  console.error("# pass times\n");
  for (const Record& r : records)
    console.print_error("# {:>10}  {:4.1f} %  {}\n", format_duration(r.nanoseconds),
                        total ? 100.0 * double(r.nanoseconds) / double(total) : 0.0, pipeline::to_string(r.pass));
  console.print_error("# {:>10}  total\n", format_duration(total));
}

}  // namespace rldb::ui
