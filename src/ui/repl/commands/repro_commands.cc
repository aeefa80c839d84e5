// Commands that find out what is wrong with a program, and make it small.
#include <fmt/format.h>

#include "rldb/ir/printer.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_run.h"
#include "ui/repl/data/data.h"
#include "ui/repl/entry/state.h"
#include "ui/repl/view.h"

namespace rldb::ui {

namespace {

// `PASSES [FUNCTION [VALUE...]]`
std::optional<repro::Question> question_of(Repl& repl, std::string_view rest) {
  repro::Question q;
  const std::vector<std::string> words = split_words(rest);
  if (words.empty()) return std::nullopt;
  q.passes = words[0];
  if (words.size() > 1) q.function = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) q.inputs.push_back(words[i]);
  q.tolerances = repl.line().tolerances;
  return q;
}

// A module, and a pipeline that there is.
bool can_ask(Repl& repl, const repro::Question& q) {
  if (!repl.session().module()) {
    repl.fail(source::message(diag::NoProgram));
    return false;
  }
  auto pipeline = passes::parse_pipeline(q.passes);
  if (!pipeline.ok()) repl.fail(std::move(pipeline).error());
  return pipeline.ok();
}

}  // namespace

Status command_Bisect(Repl& repl, std::string_view rest) {
  const auto q = question_of(repl, rest);
  if (!q) return Status::Usage;
  if (!can_ask(repl, *q)) return Status::Failed;
  const repro::PassBisection found = repro::bisect_passes(repl.session(), repl.session().module(), *q);
  if (repl.wants_json())
    repl.give(Json::parse(repro::to_json(found)));
  else if (found.verdict != repro::PassBisection::Verdict::CannotTell)
    repl.print("{}\n", repro::to_string(found));
  const ir::Module* without = found.rewrite > 0 ? found.without : found.before;
  const ir::Module* with = found.rewrite > 0 ? found.with : found.after;
  if (found.verdict == repro::PassBisection::Verdict::Found && without && with && !repl.wants_json()) {
    const ir::PrintOptions& print = repl.session().options().print;
    show_difference(repl, ir::print(without, print), ir::print(with, print), "without", "with");
  }
  using Verdict = repro::PassBisection::Verdict;
  if (found.verdict == Verdict::Found)
    return repl.fail(source::message(diag::PassBringsFault, passes::to_string(found.pass), found.symptom.text));
  return found.verdict == Verdict::None ? Status::Good : repl.fail(source::message(diag::CannotTell, found.why));
}

Status command_Reduce(Repl& repl, std::string_view rest) {
  const auto q = question_of(repl, rest);
  if (!q) return Status::Usage;
  if (!can_ask(repl, *q)) return Status::Failed;
  const repro::Reduction r = repro::reduce(repl.session(), repl.session().module(), *q, {});
  if (!r.module) return repl.fail(source::message(diag::CannotTell, r.why));
  repl.session().set_module(r.module);
  repl.print("{} -> {}\nsymptom: {}: {}\npasses: {}\n", repro::to_string(r.before), repro::to_string(r.after),
             r.symptom.kind, r.symptom.text, r.passes);
  return Status::Good;
}

}  // namespace rldb::ui
