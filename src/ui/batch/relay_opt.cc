// `rldb opt` on Relay text: passes of the Relay VM's compiler, with the options for each.
#include "ui/batch/relay_opt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/repro/relay_passes.h"
#include "rldb/session/relay_code.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/render/duration.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

namespace {

std::string text_of(const relay::Module* m) {
  const std::string text = relay::print(m);
  return text.ends_with('\n') ? text : text + "\n";
}

// Applies passes, and reports on each of them as the line's flags request.
class RelayPassRunner {
 public:
  RelayPassRunner(const session::Session& session, const session::RelayText& program, source::Diagnostics& found,
                  const CommandLine& line, Console& console)
      : session_(session),
        line_(line),
        console_(console),
        evaluator_(session::make_evaluator(program.source().ctx, line.options)),
        env_{program.source().ctx, found, line.function.empty() ? "main" : std::string_view(line.function), nullptr,
             evaluator_.get()} {}

  // Null: a pass failed, which is diagnosed.
  const relay::Module* run(const relay::Module* m, const std::vector<relay::PassInvocation>& passes) {
    for (std::size_t i = 0; i < passes.size() && m; ++i) {
      const bool runs = !line_.bisect_limit || *line_.bisect_limit < 0 || int(i) < *line_.bisect_limit;
      if (line_.bisect_limit)
        console_.print_error("BISECT: {}running pass ({}) {}\n", runs ? "" : "NOT ", i + 1, to_string(passes[i]));
      if (runs) m = one(passes[i], i, m);
    }
    if (line_.time_passes) print_times();
    return m;
  }

  // The exit code if no pass failed.
  int code() const { return !ok_ ? kFailed : nothing_ran_ ? kCannotTell : kGood; }

 private:
  static bool is_named(const std::vector<std::string>& names, const relay::PassInvocation& pass) {
    const std::string_view name = relay::info(pass.id).name;
    return std::any_of(names.begin(), names.end(), [&](const std::string& n) { return n == "*" || n == name; });
  }
  void print_ir(std::string_view when, const std::string& name, const relay::Module* m) {
    console_.error(fmt::format("# IR {} {}\n{}\n", when, name, text_of(m)));
  }

  const relay::Module* one(const relay::PassInvocation& pass, std::size_t index, const relay::Module* before) {
    if (is_named(line_.print_ir_before, pass)) print_ir("before", to_string(pass), before);
    const auto start = std::chrono::steady_clock::now();
    const relay::Module* after = relay::run_pass(pass, env_, before);
    const auto time = std::chrono::steady_clock::now() - start;
    records_.push_back({to_string(pass), std::uint64_t(std::chrono::nanoseconds(time).count()), before, after});
    relay::Typing typing;
    if (!after || (line_.verify_each && !relay::infer_types(env_.ctx, after, typing, env_.out))) return nullptr;
    const bool changed = after != before && text_of(before) != text_of(after);
    const bool on_change = line_.print_ir_after_change || line_.print_changed == "quiet";
    if (is_named(line_.print_ir_after, pass) || (on_change && changed)) print_ir("after", to_string(pass), after);
    if (line_.print_changed == "diff" || line_.print_changed == "cdiff") tell(to_string(pass), before, after, changed);
    if (!line_.dump_ir_to.empty()) dump(index, relay::info(pass.id).name, after);
    if (line_.validate_each && changed) validate(to_string(pass), before, after);
    return after;
  }

  void tell(const std::string& name, const relay::Module* before, const relay::Module* after, bool changed) {
    if (!changed) {
      console_.print_error("# {}: no change\n", name);
      return;
    }
    DiffOptions options = diff_options(line_, console_, STDERR_FILENO);
    options.color = options.color || line_.print_changed == "cdiff";
    console_.print_error("# {} changed {}\n", name, fmt::join(session::changed_functions(before, after), ", "));
    console_.error(text_diff(text_of(before), text_of(after), "before " + name, "after " + name, options));
  }

  void dump(std::size_t index, std::string_view name, const relay::Module* m) {
    if (::mkdir(line_.dump_ir_to.c_str(), 0777) != 0 && errno != EEXIST) {
      source::Diagnostics d;
      d.add({}, source::message(diag::FileNotWritten, line_.dump_ir_to, std::strerror(errno)));
      console_.diagnose(d, session_.sources());
      ok_ = false;
      return;
    }
    ok_ = write_output(fmt::format("{}/{:03}_{}.relay", line_.dump_ir_to, index, name), text_of(m), console_) && ok_;
  }

  void validate(const std::string& name, const relay::Module* before, const relay::Module* after) {
    const repro::Validation v = repro::validate_relay(env_.ctx, before, after, line_.options);
    console_.print_error("# validate {}: {}\n", name, repro::to_string(v));
    ok_ = ok_ && v.difference.empty();
    nothing_ran_ = nothing_ran_ || v.compared.empty();
  }

  void print_times() const {
    if (line_.format == Format::Json) return print_times_as_json();
    std::uint64_t total = 0;
    for (const Record& r : records_) total += r.nanoseconds;
    console_.error("# pass times\n");
    for (const Record& r : records_)
      console_.print_error("# {:>10}  {:4.1f} %  {}\n", format_duration(r.nanoseconds),
                           total ? 100.0 * double(r.nanoseconds) / double(total) : 0.0, r.name);
    console_.print_error("# {:>10}  total\n", format_duration(total));
  }

  void print_times_as_json() const {
    Json passes = Json::array();
    std::uint64_t total = 0;
    for (const Record& r : records_) {
      total += r.nanoseconds;
      passes.push_back({{"pass", r.name},
                        {"ok", r.after != nullptr},
                        {"nanoseconds", r.nanoseconds},
                        {"changed", r.after ? session::changed_functions(r.before, r.after) : Names()}});
    }
    console_.error(Json{{"passes", std::move(passes)}, {"nanoseconds", total}}.dump(2) + "\n");
  }

  using Names = std::vector<std::string>;
  struct Record {
    std::string name;
    std::uint64_t nanoseconds;
    const relay::Module* before;
    const relay::Module* after;  // null: it failed
  };

  const session::Session& session_;
  const CommandLine& line_;
  Console& console_;
  std::shared_ptr<relay::Evaluator> evaluator_;
  relay::PassEnv env_;
  std::vector<Record> records_;
  bool ok_ = true;
  bool nothing_ran_ = false;  // a validation that had nothing to compare
};

// False: a pass to be printed is unknown, which is diagnosed.
bool names_relay_passes(const CommandLine& line, source::Diagnostics& found) {
  for (const auto* names : {&line.print_ir_before, &line.print_ir_after})
    for (const std::string& name : *names)
      if (name != "*") relay::parse_passes(name, found);
  return !found.has_errors();
}

}  // namespace

int batch_opt_relay(session::Session& session, const session::RelayText& program, const CommandLine& line,
                    Console& console) {
  source::Diagnostics found;
  const auto passes = relay::parse_passes(line.passes, found);
  if (!passes || !names_relay_passes(line, found)) return fail(found, session.sources(), line, console, kUsage);
  RelayPassRunner runner(session, program, found, line, console);
  const relay::Module* m = runner.run(program.module(), *passes);
  if (!found.all().empty()) report(found, session.sources(), line, console);
  if (!m) return kFailed;
  if (!write_output(line.output, text_of(m), console)) return kUsage;
  return runner.code();
}

}  // namespace rldb::ui
