// rldb bisect: which pass of a pipeline, or of a folder of IR files, made a program wrong. rldb reduce: the smallest
// program with the same fault.
#include "rldb/repro/bisect.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "rldb/ir/printer.h"
#include "rldb/repro/expected.h"
#include "rldb/repro/program_passes.h"
#include "rldb/repro/reduce.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/kernel_step.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/text_diff.h"
#include "ui/batch/against.h"
#include "ui/batch/compare_expected.h"
#include "ui/batch/job.h"
#include "ui/batch/progress.h"
#include "ui/batch/reduce_onnx.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

namespace {

repro::BisectProgress shown_by(Progress& progress, const char* things) {
  return [&progress, things](std::size_t done, std::size_t count, std::string_view what) {
    const double share = count > 0 ? double(done) / double(count) : 0;
    progress.show(share, fmt::format("{} of {} {}, {}", done, count, things, what));
  };
}

// The values of `--expected-output`. False: diagnosed.
bool read_expected_leaves(const CommandLine& line, session::Session& session, Console& console,
                          std::vector<runtime::Value>& out) {
  if (line.expected_output.empty()) return true;
  source::Diagnostics diagnostics;
  auto read = read_expected(line.expected_output, diagnostics);
  if (read)
    for (auto& [name, value] : *read) out.push_back(std::move(value));
  else
    report(diagnostics, session.sources(), line, console);
  return read.has_value();
}

int bisect_folder(const CommandLine& line, session::Session& session, const Job& job, Console& console) {
  using Verdict = repro::TraceBisection::Verdict;
  if (!line.bisect.original.empty() && !support::file_exists(line.bisect.original)) {
    source::Diagnostics missing;
    missing.add({}, source::message(diag::FileNotFound, line.bisect.original, "there is no such file"));
    return fail(missing, session.sources(), line, console, kUsage);
  }
  const bool json = line.format == Format::Json;
  Verdict verdict = Verdict::CannotTell;
  repro::Followed what;
  what.function = line.function;
  what.inputs = line.inputs;
  what.original = line.bisect.original;
  if (!read_expected_leaves(line, session, console, what.expected)) return kUsage;
  Progress progress(console);
  const repro::BisectProgress show = shown_by(progress, "stages");
  if (line.bisect.traces.size() == 1) {
    const repro::TraceBisection found =
        repro::bisect_trace(session, line.bisect.traces[0], line.tolerances, what, show, job.ranks());
    progress.clear();
    if (job.helps()) return kGood;
    console.print("{}\n", json ? repro::to_json(found) : repro::to_string(found, line.bisect.traces[0]));
    const bool wanted = found.verdict == Verdict::Found && found.bad_program.module &&
                        !(line.save_repro.empty() && line.tvm_script.empty());
    const bool only_memory = found.comparison.verdict != repro::Comparison::Verdict::Differs && !found.memory.empty();
    if (wanted && only_memory &&
        !save_memory_fault(found.bad_program, found.memory.front(), repro::to_string(found, line.bisect.traces[0]),
                           line, session, console))
      return kUsage;
    if (wanted && !only_memory &&
        !save_stages(found.good_program, found.bad_program, repro::to_string(found, line.bisect.traces[0]), line,
                     session, console))
      return kUsage;
    verdict = found.verdict;
  } else {
    const auto found = repro::bisect_two_traces(session, line.bisect.traces[0], line.bisect.traces[1], line.tolerances,
                                                what, show, job.ranks());
    progress.clear();
    if (job.helps()) return kGood;
    console.print("{}\n",
                  json ? repro::to_json(found) : repro::to_string(found, line.bisect.traces[0], line.bisect.traces[1]));
    verdict = found.verdict();
  }
  return verdict == Verdict::Agree ? kGood : verdict == Verdict::Found ? kFailed : kCannotTell;
}

// The question that the command line asks about a program; nullopt: diagnosed.
std::optional<repro::Question> question_of(const CommandLine& line, session::Session& session, Console& console) {
  repro::Question q;
  source::Diagnostics diagnostics;
  const bool asks = !line.test_command.empty() || !line.partner.command.empty();
  q.kind = asks ? repro::OracleKind::Command : line.oracle;
  q.command = line.test_command;
  q.memory = line.memory_limit;
  q.time = line.time_limit;
  q.keep_defined = line.reduce.keep_defined;
  q.passes = line.passes;
  q.function = function_of(line, session);
  q.inputs = line.inputs;
  q.tolerances = line.tolerances;
  // A program may be wrong to begin with: then there are no passes.
  if (!line.passes.empty()) (void)repro::can_bisect(session, q, diagnostics);
  if (!read_expected_leaves(line, session, console, q.expected)) return std::nullopt;
  if (!diagnostics.has_errors()) return q;
  report(diagnostics, session.sources(), line, console);
  return std::nullopt;
}

int bisect_by_kernel(const CommandLine& line, session::Session& session, const Job& job, Console& console) {
  using Verdict = repro::KernelBisection::Verdict;
  if (const int code = load(session, line.files[0], line, console); code != kGood) return code;
  const auto question = question_of(line, session, console);
  if (!question) return kUsage;
  Progress progress(console);
  const ir::Module* module = session.module();
  const auto found = repro::bisect_kernels(session, module, *question, shown_by(progress, "done"), job.ranks());
  progress.clear();
  if (job.helps()) return kGood;
  if (line.format == Format::Json) {
    console.print("{}\n", repro::to_json(found));
  } else {
    console.print("{}\n", repro::to_string(found));
    console.write(kernel_step_diff(found, line.options.print, diff_options(line, console, STDOUT_FILENO)));
  }
  if (found.verdict == Verdict::Found && !line.save_repro.empty() &&
      !write_repro(line.save_repro, repro_of_kernel(line, session, module, *question, repro::to_string(found)),
                   console))
    return kUsage;
  if (found.verdict == Verdict::Found && !line.tvm_script.empty()) {
    source::Diagnostics refused;
    refused.add({}, source::message(diag::NoTvmScript, "the fault is in rldb's own compiled code"));
    return fail(refused, session.sources(), line, console, kUsage);
  }
  return found.verdict == Verdict::None ? kGood : found.verdict == Verdict::Found ? kFailed : kCannotTell;
}

int bisect_pipeline(const CommandLine& line, session::Session& session, const Job& job, Console& console) {
  using Verdict = repro::ProgramBisection::Verdict;
  if (const int code = load(session, line.files[0], line, console); code != kGood) return code;
  auto question = question_of(line, session, console);
  if (!question) return kUsage;
  Progress progress(console);
  const auto found = repro::bisect_program(session, *question, shown_by(progress, "passes"), job.ranks());
  question->values = found.values;  // for the scripts
  progress.clear();
  if (job.helps()) return kGood;
  if (line.format == Format::Json) {
    console.print("{}\n", found.json);
  } else {
    console.print("{}\n", found.text);
    if (found.without != found.with)
      console.write(
          text_diff(found.without, found.with, "without", "with", diff_options(line, console, STDOUT_FILENO)));
  }
  if (found.verdict == Verdict::Found && !line.save_repro.empty()) {
    // The whole pipeline: values are as they were before its first pass.
    const ReproFile repro = repro_of_pipeline(line, session, session.module(), *question, found.text);
    if (!write_repro(line.save_repro, repro, console)) return kUsage;
  }
  if (found.verdict == Verdict::Found && !line.tvm_script.empty() &&
      !save_tvm_script(line.tvm_script, line, session, session.module(), *question, found.symptom, found.text, console))
    return kUsage;
  if (found.verdict != Verdict::Found && support::cancel_cause() == support::CancelCause::Interrupt)
    return 128 + SIGINT;  // before all inputs were tried
  return found.verdict == Verdict::None ? kGood : found.verdict == Verdict::Found ? kFailed : kCannotTell;
}

// For a reduction: on a terminal a bar of what has been removed, elsewhere a line for each step.
void tell_step(const repro::ProgramSize& first, const repro::ProgramSize& now, std::size_t tried,
               const std::string& move, Progress& progress, Console& console) {
  const auto all = [](const repro::ProgramSize& s) { return double(s.bindings + s.statements + s.functions); };
  progress.show(1 - all(now) / std::max(all(first), 1.0),
                fmt::format("{}, {}", repro::to_string(now), support::counted(tried, "try")));
  if (!move.empty() && !progress.on_terminal())
    console.print_error("{} after {}, {:.1f} s ({})\n", repro::to_string(now), support::counted(tried, "try"),
                        progress.seconds(), move);
}

void tell_reduction(const repro::ReductionFacts& r, Console& console) {
  console.print_error("symptom: {}: {}\n", to_string(r.symptom.kind), r.symptom.text);
  console.print_error("{} -> {}{}\n", repro::to_string(r.before), repro::to_string(r.after),
                      r.complete ? "" : " (stopped before the end)");
  console.print_error("{}\n", repro::minimality(r));
  if (!r.passes.empty()) console.print_error("passes: {}\n", r.passes);
  for (const std::string& input : r.inputs) console.print_error("input: {}\n", input);
}

// False: diagnosed.
bool save_reduction(const repro::ReductionFacts& r, repro::Question question, session::Session& session,
                    const CommandLine& line, Console& console) {
  if (line.save_repro.empty() && line.tvm_script.empty()) return true;
  // The command is run on the module itself.
  question.passes = question.command.empty() ? r.passes : std::string();
  question.inputs = r.inputs;
  const std::string seen = fmt::format("symptom: {}: {}", to_string(r.symptom.kind), r.symptom.text);
  if (!line.tvm_script.empty() &&
      !save_tvm_script(line.tvm_script, line, session, session.module(), question, r.symptom, seen, console))
    return false;
  if (line.save_repro.empty()) return true;
  if (!has_entry(question)) {
    source::Diagnostics found;
    found.add({}, source::message(diag::NoScriptOfReduction, repro::word_of(question.kind)));
    report(found, session.sources(), line, console);
    return false;
  }
  return write_repro(line.save_repro, repro_of_pipeline(line, session, session.module(), question, seen), console);
}

// A killed reduction loses no more than the steps of this time.
constexpr auto kBetweenFiles = std::chrono::seconds(1);

// SIGTERM ends the work as ^C does: the smallest program so far is written.
class EndedByTerm {
 public:
  EndedByTerm() {
    struct sigaction action {};
    action.sa_handler = [](int) { support::request_cancel(support::CancelCause::Interrupt); };
    ::sigaction(SIGTERM, &action, &before_);
  }
  ~EndedByTerm() { ::sigaction(SIGTERM, &before_, nullptr); }
  EndedByTerm(const EndedByTerm&) = delete;
  EndedByTerm& operator=(const EndedByTerm&) = delete;

 private:
  struct sigaction before_ {};
};

std::string printed(const ir::Module* module, const CommandLine& line) {
  ir::PrintOptions print = line.options.print;
  print.show_meta = true;
  return ir::print(module, print) + "\n";
}

// The file's program; a module may break rules: a compiler may have been given it all the same.
int load_to_reduce(const CommandLine& line, session::Session& session, Console& console) {
  source::Diagnostics found;
  if (!line.expected.empty()) bind_deciding_inputs(session, line, repro::expected_places(line.expected)[0]);
  if (!repro::read_ill_formed(session, line.files[0], found)) return load(session, line.files[0], line, console);
  console.print_error("note: the module breaks rules, and smaller ones may break the same: {}\n", found.first_error());
  return kGood;
}

// Writes the module to the file, or to standard output; in JSON with facts about the reduction, and with the module's
// text where it has no file. False: diagnosed.
bool give_reduction(const repro::ProgramReduction& r, const std::optional<WrittenModel>& model, const CommandLine& line,
                    Console& console) {
  const std::string text = r.text + "\n";
  const bool json = line.format == Format::Json, to_file = !line.output.empty() && line.output != "-";
  if ((!json || to_file) && !write_output(line.output, text, console)) return false;
  if (!json) return true;
  auto data = nlohmann::json::parse(repro::to_json(r));
  if (!to_file) data["module"] = text;
  if (model) data["onnx"] = model->json;
  console.print("{}\n", data.dump(2));
  return true;
}

// Of a test that takes models: the smallest model's translation.
bool give_translation(const WrittenModel& model, const session::Session& session, const CommandLine& line,
                      Console& console) {
  const session::Program& program = *session.program();
  const std::string text = *program.text(program.position(), session::TextFor::Saving) + "\n";
  const bool json = line.format == Format::Json, to_file = !line.output.empty() && line.output != "-";
  if ((!json || to_file) && !write_output(line.output, text, console)) return false;
  if (!json) return true;
  nlohmann::json data{{"onnx", model.json}};
  if (!to_file) data["module"] = text;
  console.print("{}\n", data.dump(2));
  return true;
}

}  // namespace

int batch_bisect(const CommandLine& line, Console& console) {
  const Job job(line, console);
  if (!job.fine()) return kUsage;
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (line.bisect.traces.size() == 1 || line.bisect.traces.size() == 2)
    return bisect_folder(line, *session, job, console);
  if (!line.files.empty() && line.bisect.by_kernel) return bisect_by_kernel(line, *session, job, console);
  if (!line.files.empty() && !line.passes.empty()) return bisect_pipeline(line, *session, job, console);
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::NothingToBisect));
  report(diagnostics, session->sources(), line, console);
  return kUsage;
}

int batch_reduce(const CommandLine& line, Console& console) {
  auto session = open_session(line, console);
  if (!session) return kUsage;
  const EndedByTerm ended;
  const Job job(line, console);
  if (!job.fine()) return kUsage;
  if (const int code = load_to_reduce(line, *session, console); code != kGood) return code;
  auto question = question_of(line, *session, console);
  if (!question) return kUsage;
  std::unique_ptr<repro::Partner> partner;
  if (!line.partner.command.empty()) {
    partner = start_partner(line, *session, console);
    if (!partner) return kUsage;
    question->partner = partner.get();
  }
  std::optional<WrittenModel> model;
  if (!line.reduce.onnx.empty()) {
    int code = kGood;
    model = write_smallest_model(line, *session, *question, job, console, code);
    if (!model) return code;
  }
  Progress progress(console);
  repro::ReduceOptions options;
  if (partner) options.candidate_seconds += 2 * line.partner.seconds;
  if (job.helps()) {
    repro::answer_other_ranks(*session, *question, *job.ranks(), options.candidate_seconds);
    return kGood;
  }
  // The other ranks have the question about models, not the one about the smallest model's translation.
  options.ranks = model ? nullptr : job.ranks();
  options.jobs = line.jobs;
  options.seconds = line.seconds;
  std::optional<repro::ProgramSize> first;
  options.progress = [&](const repro::ProgramSize& size, std::size_t tried, const std::string& move) {
    if (!first) first = size;
    tell_step(*first, size, tried, move, progress, console);
  };
  auto written = std::chrono::steady_clock::now();
  options.better = [&](const ir::Module* smaller) {
    const auto now = std::chrono::steady_clock::now();
    if (line.output.empty() || line.output == "-" || now - written < kBetweenFiles) return;
    written = now;
    (void)write_output(line.output, printed(smaller, line), console);
  };
  repro::ProgramReduction r;
  if (model && model->only_translated) return give_translation(*model, *session, line, console) ? kGood : kUsage;
  r = repro::reduce_program(*session, *question, options);
  // Generated inputs did not show it.
  if (!r.found && model && !model->inputs.empty() && question->inputs.empty()) {
    question->inputs = model->inputs;
    r = repro::reduce_program(*session, *question, options);
  }
  progress.clear();
  if (!r.found) {
    source::Diagnostics none;
    none.add({}, source::message(diag::CannotTell, r.why));
    if (line.format == Format::Json)
      report(none, session->sources(), line, console);
    else
      console.print_error("cannot tell: {}\n", r.why);
    return kCannotTell;
  }
  tell_reduction(r, console);
  if (!save_reduction(r, *question, *session, line, console)) return kUsage;
  return give_reduction(r, model, line, console) ? kGood : kUsage;
}

}  // namespace rldb::ui
