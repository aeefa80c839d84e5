// `rldb opt` and `rldb bisect` on Relay texts: passes of the Relay VM's compiler, with the options for each.
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
#include "rldb/relay/run/check_passes.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_result.h"
#include "ui/batch/batch.h"
#include "ui/batch/relay.h"
#include "ui/batch/relay_machine.h"
#include "ui/repl/data/data.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

std::string text_of(const relay::Module* m) {
  const std::string text = relay::print(m);
  return text.ends_with('\n') ? text : text + "\n";
}

// Applies passes, and reports on each of them as the line's flags request.
class RelayPassRunner {
 public:
  RelayPassRunner(RelayProgram& program, source::Diagnostics& found, const CommandLine& line, Console& console)
      : program_(program),
        line_(line),
        console_(console),
        evaluator_(relay_run::make_evaluator(program.ctx, line.options)),
        env_{program.ctx, found, line.function.empty() ? "main" : std::string_view(line.function), nullptr,
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
    if (!after || (line_.verify_each && !relay::infer_types(program_.ctx, after, typing, env_.out))) return nullptr;
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
    console_.print_error("# {} changed {}\n", name, fmt::join(relay_run::changed_functions(before, after), ", "));
    console_.error(text_diff(text_of(before), text_of(after), "before " + name, "after " + name, options));
  }

  void dump(std::size_t index, std::string_view name, const relay::Module* m) {
    if (::mkdir(line_.dump_ir_to.c_str(), 0777) != 0 && errno != EEXIST) {
      source::Diagnostics d;
      d.add({}, source::message(diag::FileNotWritten, line_.dump_ir_to, std::strerror(errno)));
      console_.diagnose(d, program_.sources);
      ok_ = false;
      return;
    }
    ok_ = write_output(fmt::format("{}/{:03}_{}.relay", line_.dump_ir_to, index, name), text_of(m), console_) && ok_;
  }

  void validate(const std::string& name, const relay::Module* before, const relay::Module* after) {
    const relay_run::Validation v = relay_run::validate(program_.ctx, before, after, line_.options);
    console_.print_error("# validate {}: {}\n", name, relay_run::to_string(v));
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
                        {"changed", r.after ? relay_run::changed_functions(r.before, r.after) : Names()}});
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

  RelayProgram& program_;
  const CommandLine& line_;
  Console& console_;
  std::shared_ptr<relay::Evaluator> evaluator_;
  relay::PassEnv env_;
  std::vector<Record> records_;
  bool ok_ = true;
  bool nothing_ran_ = false;  // a validation that had nothing to compare
};

void print_rewrite(const relay_run::PassBisection& found, const CommandLine& line, Console& console) {
  const relay::Module* before = found.rewrite > 0 ? found.without : found.before;
  const relay::Module* after = found.rewrite > 0 ? found.with : found.after;
  if (!before || !after) return;
  DiffOptions options = diff_options(line, console, STDOUT_FILENO);
  console.write(text_diff(text_of(before), text_of(after), "without", "with", options));
}

// The keys are those of a bisection of Relax passes.
Json bisection_json(const relay_run::PassBisection& b) {
  using Verdict = relay_run::PassBisection::Verdict;
  Json out{{"why", b.why}, {"passes", b.count}};
  out["verdict"] = b.verdict == Verdict::None ? "none" : b.verdict == Verdict::Found ? "found" : "cannot tell";
  if (b.verdict != Verdict::Found) return out;
  out["pass"] = to_string(b.pass);
  out["index"] = b.index;
  out["symptom"] = {{"text", b.symptom}};
  out["rewrite"] = {{"number", b.rewrite}, {"of", b.rewrites}, {"text", b.rewrite_text}};
  return out;
}

// Rejects options for Relax, and unknown passes; false: diagnosed.
bool fits_relay(const CommandLine& line, source::Diagnostics& found) {
  const std::string& file = line.files[0];
  if (!line.html.empty()) found.add({}, source::message(diag::NotForRelay, "--html", file));
  if (!line.memory_report.empty()) found.add({}, source::message(diag::NotForRelay, "--memory-report", file));
  if (!line.rewriters.empty()) found.add({}, source::message(diag::NotForRelay, "--rewriter", file));
  for (const auto* names : {&line.print_ir_before, &line.print_ir_after})
    for (const std::string& name : *names)
      if (name != "*") relay::parse_passes(name, found);
  return !found.has_errors();
}

}  // namespace

int batch_opt_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console) {
  const relay::Module* m = relay.parsed.module;
  const bool fits = fits_relay(line, found);
  const auto passes = relay::parse_passes(line.passes, found);
  if (!m || !passes || !fits) return fail(found, relay.sources, line, console, m ? kUsage : kBadText);
  RelayPassRunner runner(relay, found, line, console);
  m = runner.run(m, *passes);
  if (!found.all().empty()) report(found, relay.sources, line, console);
  if (!m) return kFailed;
  if (!write_output(line.output, text_of(m), console)) return kUsage;
  return runner.code();
}

int batch_bisect_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console) {
  using Verdict = relay_run::PassBisection::Verdict;
  const auto passes = relay::parse_passes(line.passes, found);
  const relay::Module* m = relay.parsed.module;
  if (!m || !passes) return fail(found, relay.sources, line, console, m ? kUsage : kBadText);
  if (passes->empty()) {
    found.add({}, source::message(diag::NothingToBisect));
    return fail(found, relay.sources, line, console, kUsage);
  }
  const std::string_view entry = line.function.empty() ? "main" : std::string_view(line.function);
  const auto bisection = relay_run::bisect_passes(relay.ctx, m, *passes, entry, line.options);
  if (line.format == Format::Json) {
    console.print("{}\n", bisection_json(bisection).dump(2));
  } else {
    console.print("{}\n", to_string(bisection));
    if (bisection.verdict == Verdict::Found) print_rewrite(bisection, line, console);
  }
  return bisection.verdict == Verdict::None ? kGood : bisection.verdict == Verdict::Found ? kFailed : kCannotTell;
}

}  // namespace rldb::ui
