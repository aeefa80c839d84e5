// Moments of a run, and changing what happens in it.
#include <fmt/format.h>

#include "rldb/debug/model_node.h"
#include "rldb/expression/expression.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/at_rank.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

bool has_run(Repl& repl) {
  return repl.debugger().active() || repl.debugger().last_stop().kind != debug::StopKind::None;
}

Status show_lines(Repl& repl, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) repl.print("{}\n", line);
  return Status::Good;
}

// Of an element: its own step of `why`, and what it means that there is none.
std::vector<std::string> last_write_lines(std::vector<debug::CauseStep> steps) {
  const bool written = !steps[0].kernels.empty() || !steps[0].command.empty() || !steps[0].problem.empty();
  std::vector<std::string> lines = debug::lines_of(steps);
  if (!written) lines.push_back("  no call of this run has written it");
  return lines;
}

}  // namespace

Status command_Goto(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!has_run(repl)) return repl.fail(source::message(diag::NotStopped));
  const auto named = repl.debugger().checkpoint(rest);
  const auto time = named ? named : parse_count(rest.starts_with('@') ? rest.substr(1) : rest);
  if (!time)
    return repl.fail(source::message(diag::NoSuchThing, "checkpoint", rest)
                         .with_hint("`:checkpoint` lists them; a time is a number"));
  return repl.show_stop(repl.debugger().go_to(*time));
}

Status command_Checkpoint(Repl& repl, std::string_view rest) {
  if (!has_run(repl)) return repl.fail(source::message(diag::NotStopped));
  if (!rest.empty()) {
    repl.debugger().set_checkpoint(std::string(rest));
    if (repl.wants_json()) return repl.give(checkpoints_json(repl));
    repl.print("checkpoint {} at time {}\n", rest, repl.debugger().last_stop().time);
    return Status::Good;
  }
  if (repl.wants_json()) return repl.give(checkpoints_json(repl));
  for (const auto& [name, time] : repl.debugger().checkpoints()) repl.print("{:<16} @{}\n", name, time);
  repl.print("{}\n", debug::to_string(repl.debugger().history()));
  return Status::Good;
}

// `a[0]`, `t[1][0]`; not `(a + b)[0]`, which nothing has written.
static bool is_element(std::string_view text) {
  const auto parsed = expression::parse(text);
  if (!parsed.ok()) return true;  // what reads it says what is wrong
  const expression::Term* t = &parsed->root();
  while (t->kind == expression::TermKind::Subscript) t = &parsed->child(*t, 0);
  return t->kind == expression::TermKind::Name;
}

Status command_When(Repl& repl, std::string_view rest) {
  if (!has_run(repl)) return repl.fail(source::message(diag::NotStopped));
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(checkpoints_json(repl));
    repl.print("{}\n", debug::to_string(repl.debugger().history()));
    return Status::Good;
  }
  const AtRank rank(repl, rest, AtRank::About::Past);
  if (rank.failed()) return Status::Failed;
  source::Diagnostics diagnostics;
  if (rest.ends_with(']')) {
    if (!is_element(rest))
      return repl.fail(source::message(diag::RunFailed, fmt::format("`{}` is not an element of a variable", rest)));
    std::vector<debug::CauseStep> steps = repl.debugger().why(rest, repl.frame(), 0, diagnostics);
    if (repl.report(diagnostics) == Status::Failed || steps.empty()) return Status::Failed;
    steps.resize(1);
    return repl.wants_json() ? repl.give(why_json(steps)) : show_lines(repl, last_write_lines(std::move(steps)));
  }
  const debug::NameHistory history = repl.debugger().when(rest, repl.frame(), diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  return repl.wants_json() ? repl.give(when_json(history)) : show_lines(repl, debug::lines_of(history));
}

// The place of a step in an ONNX model, with its node.
static std::vector<std::string> lines_with_nodes(const session::Session& session,
                                                 const std::vector<debug::CauseStep>& steps) {
  std::vector<std::string> all;
  for (const debug::CauseStep& s : steps) {
    const onnx::Node* node = debug::model_node_at(session, s.file, s.line);
    const std::string place = fmt::format("# {}:{}", s.file, s.line);
    for (std::string& text : debug::lines_of({s})) {
      if (node && text.ends_with(place)) text += ", node " + node->label;
      all.push_back(std::move(text));
    }
  }
  return all;
}

Status command_Why(Repl& repl, std::string_view rest) {
  constexpr std::uint64_t kDepth = 3, kDeepest = 1000;
  // `why out[3, 4] 2`: the depth comes after the last blank, unless that is inside brackets or all is an expression.
  std::string_view target = rest;
  std::optional<std::uint64_t> depth = kDepth;
  const auto bracket = rest.rfind(']');
  if (const auto blank = rest.find_last_of(" \t"); !expression::parse(rest).ok() && blank != std::string_view::npos &&
                                                   (bracket == std::string_view::npos || bracket < blank)) {
    depth = parse_count(rest.substr(blank + 1));
    target = trim(rest.substr(0, blank));
  }
  if (!depth) return Status::Usage;
  if (!has_run(repl)) return repl.fail(source::message(diag::NotStopped));
  // Without a name: what the catchpoint has found, in the frame that it stopped in.
  const std::string found = repl.debugger().last_stop().element;
  const int frame = target.empty() ? 0 : repl.frame();
  if (target.empty()) target = found;
  if (target.empty())
    return repl.fail(source::message(diag::RunFailed, "no catchpoint has found an element at this stop")
                         .with_hint("`why x[0]` explains an element, `why x` a tensor"));
  const AtRank rank(repl, target, AtRank::About::Past);
  if (rank.failed()) return Status::Failed;
  source::Diagnostics diagnostics;
  const std::vector<debug::CauseStep> steps =
      repl.debugger().why(target, frame, int(std::min(*depth, kDeepest)), diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  if (!repl.wants_json()) return show_lines(repl, lines_with_nodes(repl.session(), steps));
  Json rows = why_json(steps);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (const onnx::Node* node = debug::model_node_at(repl.session(), steps[i].file, steps[i].line))
      rows[i]["node"] = node->label;
  return repl.give(std::move(rows));
}

Status command_Skip(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  source::Diagnostics diagnostics;
  const debug::StopReport stop = repl.debugger().skip(diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  return repl.show_stop(stop);
}

Status command_CallAgain(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  const bool over = repl.debugger().last_stop().kind == debug::StopKind::Finished;
  if (!repl.debugger().active() && !over) return repl.fail(source::message(diag::NotStopped));
  source::Diagnostics diagnostics;
  const debug::StopReport stop = repl.debugger().call_again(rest, diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  return repl.show_stop(stop);
}

Status command_Revert(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  source::Diagnostics diagnostics;
  const bool done = repl.debugger().revert_kernel(rest, diagnostics);
  if (repl.report(diagnostics) == Status::Failed || !done) return Status::Failed;
  repl.print("{} has its original form again, from here on\n", rest);
  return Status::Good;
}

Status command_Return(Repl& repl, std::string_view rest) {
  if (!repl.debugger().active()) return repl.fail(source::message(diag::NotStopped));
  source::Diagnostics diagnostics;
  const debug::StopReport stop = repl.debugger().return_from(repl.frame(), rest, diagnostics);
  if (repl.report(diagnostics) == Status::Failed) return Status::Failed;
  if (stop.kind == debug::StopKind::Finished && !stop.value.is_null()) repl.session().set_value("_", stop.value);
  return repl.show_stop(stop);
}

}  // namespace rldb::ui
