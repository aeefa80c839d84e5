// `rldb opt` and `rldb bisect` on Relay texts: passes of the Relay VM's compiler, with what can be asked about each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/run/check_passes.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_run.h"
#include "ui/batch/batch.h"
#include "ui/batch/relay.h"
#include "ui/batch/relay_machine.h"
#include "ui/text_diff.h"

namespace rldb::ui {

namespace {

int fail(const source::Diagnostics& found, const CommandLine& line, Console& console, int code,
         const source::SourceManager& sources) {
  if (line.format == Format::Json)
    console.print("{}\n", source::render_json(found, sources));
  else
    console.diagnose(found, sources);
  return code;
}

std::string text_of(const relay::Module* m) {
  const std::string text = relay::print(m);
  return text.ends_with('\n') ? text : text + "\n";
}

// Applies passes, and tells what the line's flags ask about each of them.
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

  // What the exit code is to be when no pass failed.
  int code() const { return !ok_ ? kFailed : nothing_ran_ ? kCannotTell : kGood; }

 private:
  const relay::Module* one(const relay::PassInvocation& pass, std::size_t index, const relay::Module* before) {
    const auto start = std::chrono::steady_clock::now();
    const relay::Module* after = relay::run_pass(pass, env_, before);
    const auto time = std::chrono::steady_clock::now() - start;
    times_.emplace_back(to_string(pass), std::uint64_t(std::chrono::nanoseconds(time).count()));
    relay::Typing typing;
    if (!after || (line_.verify_each && !relay::infer_types(program_.ctx, after, typing, env_.out))) return nullptr;
    tell(to_string(pass), before, after);
    if (!line_.dump_ir_to.empty()) dump(index, relay::info(pass.id).name, after);
    if (line_.validate_each) validate(to_string(pass), before, after);
    return after;
  }

  void tell(const std::string& name, const relay::Module* before, const relay::Module* after) {
    if (line_.print_ir_after_change && after != before)
      console_.error(fmt::format("# IR after {}\n{}\n", name, relay::print(after)));
    if (line_.print_changed.empty()) return;
    const std::string a = text_of(before), b = text_of(after);
    if (a == b) {
      if (line_.print_changed != "quiet") console_.print_error("# {}: no change\n", name);
      return;
    }
    DiffOptions options = diff_options(line_, console_, STDERR_FILENO);
    options.color = options.color || line_.print_changed == "cdiff";
    console_.print_error("# {} changed the program\n", name);
    console_.error(text_diff(a, b, "before " + name, "after " + name, options));
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
    std::uint64_t total = 0;
    for (const auto& [name, time] : times_) total += time;
    console_.error("# pass times\n");
    for (const auto& [name, time] : times_)
      console_.print_error("# {:>10}  {:4.1f} %  {}\n", format_duration(time),
                           total ? 100.0 * double(time) / double(total) : 0.0, name);
    console_.print_error("# {:>10}  total\n", format_duration(total));
  }

  RelayProgram& program_;
  const CommandLine& line_;
  Console& console_;
  std::shared_ptr<relay::Evaluator> evaluator_;
  relay::PassEnv env_;
  std::vector<std::pair<std::string, std::uint64_t>> times_;
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

}  // namespace

int batch_opt_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console) {
  const relay::Module* m = relay.parsed.module;
  const auto passes = relay::parse_passes(line.passes, found);
  if (!m || !passes) return fail(found, line, console, m ? kUsage : kBadText, relay.sources);
  RelayPassRunner runner(relay, found, line, console);
  m = runner.run(m, *passes);
  if (!found.all().empty()) fail(found, line, console, kFailed, relay.sources);
  if (!m) return kFailed;
  if (!write_output(line.output, text_of(m), console)) return kUsage;
  return runner.code();
}

int batch_bisect_relay(RelayProgram& relay, source::Diagnostics& found, const CommandLine& line, Console& console) {
  using Verdict = relay_run::PassBisection::Verdict;
  const auto passes = relay::parse_passes(line.passes, found);
  const relay::Module* m = relay.parsed.module;
  if (!m || !passes) return fail(found, line, console, m ? kUsage : kBadText, relay.sources);
  if (passes->empty()) {
    found.add({}, source::message(diag::NothingToBisect));
    return fail(found, line, console, kUsage, relay.sources);
  }
  const std::string_view entry = line.function.empty() ? "main" : std::string_view(line.function);
  const auto bisection = relay_run::bisect_passes(relay.ctx, m, *passes, entry, line.options);
  console.print("{}\n", to_string(bisection));
  if (bisection.verdict == Verdict::Found) print_rewrite(bisection, line, console);
  return bisection.verdict == Verdict::None ? kGood : bisection.verdict == Verdict::Found ? kFailed : kCannotTell;
}

}  // namespace rldb::ui
