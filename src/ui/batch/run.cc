// rldb run FILE: builds, runs, and shows, writes and compares the result.
#include <fmt/format.h>

#include <csignal>

#include "rldb/debug/kernel_result.h"
#include "rldb/repro/compare.h"
#include "rldb/repro/planner.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/dim_names.h"
#include "rldb/session/generated.h"
#include "rldb/session/group.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/support/cancel.h"
#include "rldb/support/file.h"
#include "rldb/support/text.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/prompt/rank_job.h"
#include "rldb/ui/prompt/run_record.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/render/tensor_output.h"
#include "ui/batch/run_profile.h"
#include "ui/batch/run_rank.h"
#include "ui/batch/save_repro.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool write_result(const std::string& path, const std::vector<Value>& tensors, session::Session& session,
                  const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  if (const auto bytes = tensor_file(path, tensors, diagnostics)) return write_output(path, *bytes, console);
  report(diagnostics, session.sources(), line, console);
  return false;
}

}  // namespace

std::optional<runtime::NamedTensors> read_expected(const std::string& path, source::Diagnostics& out) {
  auto bytes = support::read_file(path);
  if (!bytes.ok()) {
    out.add({}, source::message(diag::FileNotFound, path, bytes.error().reason));
    return std::nullopt;
  }
  runtime::NamedTensors tensors;
  std::string why;
  if (ends_with(path, ".npz")) {
    auto read = runtime::read_npz(*bytes, path);
    if (read.ok()) return std::move(read).value();
    why = read.error().message;
  } else {
    auto read = runtime::read_npy(*bytes, path);
    if (read.ok()) return runtime::NamedTensors{{"out0", std::move(read).value()}};
    why = read.error().message;
  }
  out.add({}, source::message(diag::BadInput, path, why));
  return std::nullopt;
}

namespace {

// 0 equal, 1 different, 2 cannot be read.
int compare_result(const std::string& path, const std::vector<Value>& tensors, session::Session& session,
                   const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  auto expected = read_expected(path, diagnostics);
  if (!expected) {
    report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  std::vector<std::pair<std::string, Value>> wanted;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    for (const auto& [name, value] : *expected)
      if (name == fmt::format("out{}", i)) wanted.emplace_back(name, value);
  if (wanted.size() != tensors.size() || expected->size() < tensors.size()) {
    diagnostics.add({}, source::message(diag::OutputNames, path, support::counted(expected->size(), "tensor"),
                                        fmt::format("{}", tensors.size())));
  }
  for (std::size_t i = 0; i < wanted.size() && i < tensors.size(); ++i) {
    Value want = wanted[i].second;
    const runtime::DType dtype = tensors[i].as_tensor().dtype();
    if (want.as_tensor().dtype() != dtype && want.as_tensor().dtype().is_uint() && dtype.is_float()) {
      auto reread = runtime::reinterpret_as(want, dtype);
      if (reread.ok()) want = std::move(reread).value();
    }
    const std::string difference = runtime::compare(tensors[i], want, line.options.tolerance);
    if (!difference.empty()) diagnostics.add({}, source::message(diag::ValuesDiffer, wanted[i].first, difference));
  }
  if (diagnostics.has_errors()) report(diagnostics, session.sources(), line, console);
  return diagnostics.has_errors() ? kFailed : kGood;
}

// A run of a module, and the fault found in it.
struct WrongRun {
  const std::vector<session::Argument>& arguments;
  std::string entry;
  std::string seen;
  std::string expectation;
};

// Saves it as a script, to the file of the line; an access out of bounds also unasked, to a default folder.
void keep(const WrongRun& run, bool unasked, const session::Session& session, const CommandLine& line,
          Console& console) {
  if (!session.module() || (line.save_repro.empty() && !unasked)) return;
  ReproFile repro = repro_of(line, session.options(), session.module());
  repro.seen = run.seen;
  repro.values = run.arguments;
  repro.entry = run.entry;
  repro.expectations = {run.expectation, ":expect success"};
  if (line.save_repro.empty())
    keep_repro("faults", repro, console);
  else
    (void)write_repro(line.save_repro, repro, console);  // diagnosed; the exit code is about the run
}

// The result is not the expected one: the expected one is saved in the script too.
void keep_unexpected(const std::vector<session::Argument>& arguments, const session::Session& session,
                     const CommandLine& line, Console& console) {
  source::Diagnostics ignored;  // it has been read before
  const auto expected = read_expected(line.expected_output, ignored);
  if (line.save_repro.empty() || !expected || expected->empty()) return;
  std::vector<Value> leaves;
  for (const auto& [name, value] : *expected) leaves.push_back(value);
  std::vector<session::Argument> values = arguments;
  values.push_back({"expected_result", leaves.size() == 1 ? leaves[0] : Value::of_tuple(leaves), false});
  keep({values, ":run " + function_of(line, session), "the result is not the expected one",
        ":expect value ~= expected_result"},
       false, session, line, console);
}

// Shows, writes or compares the result of a run that went well.
int give_result(const Value& result, const std::vector<session::Argument>& arguments, session::Session& session,
                const CommandLine& line, Console& console) {
  if (line.output.empty() && line.expected_output.empty()) {
    console.print("{}\n", runtime::format_value(result));
    return kGood;
  }
  std::vector<Value> tensors;
  std::string why;
  if (!flatten_tensors(result, tensors, why)) {
    source::Diagnostics diagnostics;
    diagnostics.add({},
                    source::message(diag::OutputKind, line.output.empty() ? line.expected_output : line.output, why));
    report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  const int code = give_tensors(tensors, session, line, console);
  if (code == kFailed) keep_unexpected(arguments, session, line, console);
  return code;
}

// A recorded run, checked for things that no correct program does.
int run_sanitized(session::Session& session, const std::string& function,
                  const std::vector<session::Argument>& arguments, const std::vector<Value>& values,
                  const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  repro::Program program;
  program.module = session.module();
  program.function = function;
  program.args = values;
  program.kernels = line.options.engine;
  auto [trace, findings] = repro::run_sanitized(session, program, line.run.sanitizers);
  repro::name_planners(findings, session, line.files[0]);
  for (const repro::Finding& f : findings) diagnostics.add({}, source::message(diag::MemoryFault, repro::to_string(f)));
  if (!trace.error.empty()) diagnostics.add({}, source::message(diag::RunFailed, trace.error));
  const bool failed = diagnostics.has_errors();
  if (!trace.incomplete.empty()) diagnostics.add({}, source::message(diag::CannotTell, trace.incomplete));
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  if (failed) {
    const std::string seen = diagnostics.first_error("the run failed");
    const std::string entry = fmt::format(":sanitize {} {}", repro::to_string(line.run.sanitizers), function);
    keep({arguments, entry, seen, not_error(seen)}, false, session, line, console);
  }
  if (failed || diagnostics.has_errors()) return failed ? kFailed : kCannotTell;
  if (!trace.result.is_null() || debug::kernel_result(session, function, values).is_null())
    return give_result(trace.result, arguments, session, line, console);
  // A kernel alone has worked on copies of the tensors that it stores to.
  const session::RunResult again = session.run(function, values, diagnostics);
  if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
  return again.ok ? give_result(debug::kernel_result(session, function, values), arguments, session, line, console)
                  : kFailed;
}

// The run under the debugger, which keeps its history, and its file: of a run that fails, too.
session::RunResult run_recorded(session::Session& session, const std::string& function,
                                const std::vector<Value>& values, const CommandLine& line, Console& console,
                                source::Diagnostics& out) {
  session::RunResult result;
  if (session.options().engine == session::Engine::Eval) {
    out.add({}, source::message(diag::RunNotWritten,
                                "the evaluator keeps no history: `--engine=vm` interprets kernels too"));
    return result;
  }
  debug::Debugger debugger(session);
  debug::StopReport stop = debugger.start(function, values, true, out);
  if (stop.kind == debug::StopKind::None) return result;
  stop = debugger.resume();
  result.ok = stop.kind == debug::StopKind::Finished;
  result.value = stop.value;
  if (stop.fault) {
    result.fault = stop.fault;
    source::Message m = source::message(diag::RunFailed, stop.fault->error.message);
    for (const std::string& note : stop.fault->error.notes) m.notes.push_back({{}, note});
    out.add(stop.where.span, std::move(m));
  }
  const auto run = result.ok || result.fault ? run_of(session, debugger, out) : std::nullopt;
  const auto written = run ? write_run(line.run.record, *run, out) : std::nullopt;
  if (written)
    console.print_error("note: wrote {} ({} bytes); `rldb {}` opens it\n", line.run.record, written->bytes,
                        line.run.record);
  return result;
}

void note_arguments(const std::vector<session::Argument>& arguments, Console& console) {
  for (const std::string& line : session::generated_lines(arguments)) console.print_error("note: {}\n", line);
}

// Several workers, and the result of each. Rank 0's result is written and compared.
int run_ranks(session::Session& session, const std::string& function, const CommandLine& line, Console& console) {
  source::Diagnostics diagnostics;
  std::vector<std::vector<Value>> by_rank;
  for (std::size_t rank = 0; rank < line.run.ranks; ++rank) {
    const auto texts = session::inputs_of_rank(line.inputs, rank, line.run.ranks, diagnostics);
    const auto arguments = texts ? session.arguments(function, *texts, diagnostics) : std::nullopt;
    if (!arguments) {
      report(diagnostics, session.sources(), line, console);
      return kUsage;
    }
    if (rank == 0 && line.format == Format::Text) note_arguments(*arguments, console);
    by_rank.emplace_back();
    for (const session::Argument& a : *arguments) by_rank.back().push_back(a.value);
  }
  session::Group group(session, line.run.ranks, line.run.groups);
  std::vector<Value> results;
  if (line.run.profile.any()) {
    if (const auto code = run_profiled(session, &group, function, by_rank, line, console, results)) return *code;
  } else {
    const bool good = group.run(function, by_rank, diagnostics);
    if (!diagnostics.all().empty()) report(diagnostics, session.sources(), line, console);
    if (!good) return kFailed;
    results = group.results();
  }
  if (line.output.empty() && line.expected_output.empty()) {
    for (std::size_t rank = 0; rank < line.run.ranks; ++rank)
      console.print("rank {}: {}\n", rank, runtime::format_value(results[rank]));
    return kGood;
  }
  std::vector<Value> tensors;
  std::string why;
  if (flatten_tensors(results[0], tensors, why)) return give_tensors(tensors, session, line, console);
  diagnostics.clear();
  diagnostics.add({}, source::message(diag::OutputKind, line.output.empty() ? line.expected_output : line.output, why));
  report(diagnostics, session.sources(), line, console);
  return kUsage;
}

}  // namespace

int give_tensors(const std::vector<Value>& tensors, session::Session& session, const CommandLine& line,
                 Console& console) {
  if (!line.output.empty() && !write_result(line.output, tensors, session, line, console)) return kUsage;
  if (!line.expected_output.empty()) return compare_result(line.expected_output, tensors, session, line, console);
  return kGood;
}

int batch_run(const CommandLine& line, Console& console) {
  source::Diagnostics joining;
  const auto job = RankJob::join(line.run.groups, joining);
  if (!joining.all().empty()) report(joining, {}, line, console);
  if (joining.has_errors()) return kUsage;
  auto session = open_session(line, console);
  if (!session) return kUsage;
  if (const int code = load(*session, line.files[0], line, console); code != kGood) return code;
  source::Diagnostics unknown;
  if (!session::has_given_dims(*session, unknown)) {
    if (!job || job->group().rank() == 0) report(unknown, session->sources(), line, console);
    return kUsage;
  }
  const std::string function = function_of(line, *session);
  if (job) {
    if (const auto refusal = session::missing_ability("a run on several ranks", session::kRanks, *session)) {
      joining.add({}, *refusal);
      if (job->group().rank() == 0) report(joining, session->sources(), line, console);
      return kUsage;
    }
    return run_rank(*session, job->group(), function, line, console);
  }
  if (line.run.ranks > 1) return run_ranks(*session, function, line, console);
  source::Diagnostics diagnostics;
  auto arguments = session->arguments(function, line.inputs, diagnostics);
  if (!arguments) {
    report(diagnostics, session->sources(), line, console);
    return kUsage;
  }
  if (line.format == Format::Text) note_arguments(*arguments, console);
  std::vector<Value> values;
  for (const session::Argument& a : *arguments) values.push_back(a.value);
  if (line.run.sanitizers.any()) return run_sanitized(*session, function, *arguments, values, line, console);
  session::RunResult result;
  if (!line.run.record.empty()) {
    result = run_recorded(*session, function, values, line, console, diagnostics);
  } else if (line.run.profile.any()) {
    std::vector<Value> results;
    if (const auto code = run_profiled(*session, nullptr, function, {values}, line, console, results)) return *code;
    result.ok = true;
    result.value = results[0];
  } else {
    result = session->run(function, values, diagnostics);
  }
  if (result.ok && result.value.is_null()) result.value = debug::kernel_result(*session, function, values);
  session->report_helpers(diagnostics);
  if (support::cancel_cause() == support::CancelCause::Timeout) {
    diagnostics.add({}, source::message(diag::TimedOut, line.timeout));
    report(diagnostics, session->sources(), line, console);
    return kTimeout;
  }
  if (!result.ok || !diagnostics.all().empty()) report(diagnostics, session->sources(), line, console);
  if (result.fault) {
    const bool unasked = result.fault->error.kind == runtime::ErrorKind::OutOfBounds;
    const std::string seen = diagnostics.first_error("the run failed");
    keep({*arguments, ":run " + function, seen, not_error(seen)}, unasked, *session, line, console);
  }
  if (!result.ok) return result.fault ? kFailed : diagnostics.has_errors() ? kFailed : 128 + SIGINT;
  if (diagnostics.has_errors()) return kFailed;  // it is not recorded
  if (line.format == Format::Text && session::any_generated(*arguments) && session::lacks_numbers(result.value))
    console.print_error("note: {}; `--sanitize=nan` shows where they begin\n", session::kLacksNumbers);

  return give_result(result.value, *arguments, *session, line, console);
}

}  // namespace rldb::ui
