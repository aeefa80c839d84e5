#include "ui/batch/run_rank.h"

#include <fmt/format.h>

#include "rldb/debug/file_names.h"
#include "rldb/runtime/value.h"
#include "rldb/session/generated.h"
#include "rldb/session/group.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/ui/render/tensor_output.h"

namespace rldb::ui {

using runtime::Value;

namespace {

// Names the option that needs all ranks in one process; empty: none.
std::string_view needs_one_process(const CommandLine& line) {
  if (line.run.profile.any()) return "`--profile` needs all ranks in one process, `--ranks`";
  if (!line.run.record.empty()) return "`--record` needs a single rank";
  if (line.run.sanitizers.any()) return "`--sanitize` needs a single rank";
  if (!line.save_repro.empty()) return "`--save-repro` needs a single rank";
  return {};
}

// The run of this rank; nullopt: it failed, which was told.
std::optional<Value> run_here(session::Session& session, session::ProcessGroup& group, const std::string& function,
                              const CommandLine& line, Console& console, int& code) {
  source::Diagnostics diagnostics;
  const auto texts = session::inputs_of_rank(line.inputs, group.rank(), group.size(), diagnostics);
  const auto arguments = texts ? session.arguments(function, *texts, diagnostics) : std::nullopt;
  std::optional<Value> result;
  if (!arguments) {
    code = kUsage;
  } else {
    if (group.rank() == 0 && line.format == Format::Text)
      for (const std::string& note : session::generated_lines(*arguments)) console.print_error("note: {}\n", note);
    std::vector<Value> values;
    for (const session::Argument& a : *arguments) values.push_back(a.value);
    source::Diagnostics ignored;  // the run reports them
    if (auto build = session.module() ? session.build(ignored) : nullptr)
      group.set_names(debug::names_for_file(std::move(build), session));
    result = group.run(session, function, values, diagnostics);
    if (!result) code = kFailed;
  }
  // Of what all of them find, one tells.
  if (!diagnostics.all().empty() && (code != kUsage || group.rank() == 0))
    report(diagnostics, session.sources(), line, console);
  return result;
}

int show(const Value& own, const std::vector<std::string>& texts, session::Session& session, const CommandLine& line,
         Console& console) {
  if (line.output.empty() && line.expected_output.empty()) {
    for (std::size_t rank = 0; rank < texts.size(); ++rank) console.print("rank {}: {}\n", rank, texts[rank]);
    return kGood;
  }
  std::vector<Value> tensors;
  std::string why;
  if (flatten_tensors(own, tensors, why)) return give_tensors(tensors, session, line, console);
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::OutputKind, line.output.empty() ? line.expected_output : line.output, why));
  report(diagnostics, session.sources(), line, console);
  return kUsage;
}

}  // namespace

int run_rank(session::Session& session, session::ProcessGroup& group, const std::string& function,
             const CommandLine& line, Console& console) {
  std::string refusal(needs_one_process(line));
  if (line.run.ranks > 1 && line.run.ranks != group.size()) refusal = fmt::format("`--ranks={}`", line.run.ranks);
  if (!refusal.empty()) {
    source::Diagnostics diagnostics;
    diagnostics.add({}, source::message(diag::RanksOfJob, refusal, group.size()));
    if (group.rank() == 0) report(diagnostics, session.sources(), line, console);
    return kUsage;
  }
  int code = kGood;
  group.begin();
  const std::optional<Value> result = run_here(session, group, function, line, console, code);
  group.end(result.has_value());
  if (!group.wait_for_others()) {
    group.tell([&](const source::Diagnostics& why) { report(why, session.sources(), line, console); });
    return code == kGood ? kFailed : code;
  }
  const std::vector<std::string> texts = group.gather(runtime::format_value(*result));
  if (group.rank() == 0) code = show(*result, texts, session, line, console);
  return code;
}

}  // namespace rldb::ui
