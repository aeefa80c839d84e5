// Commands about passes and versions.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/pipeline/instruments.h"
#include "rldb/schedule/flat_form.h"
#include "rldb/schedule/schedule.h"
#include "rldb/schedule/target.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/render/diff_stat.h"
#include "rldb/ui/render/table.h"
#include "ui/prompt/commands/versions.h"
#include "ui/prompt/list_text.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

namespace {

// The difference of two versions.
void print_difference(Repl& repl, std::size_t before, std::size_t after, const std::optional<DiffLayout>& layout) {
  const session::Program& program = *repl.session().program();
  const std::string a = *program.text(before, session::TextFor::Comparing);
  const std::string b = *program.text(after, session::TextFor::Comparing);
  if (a == b) repl.print("no difference\n");
  show_difference(repl, a, b, program.version_name(before), program.version_name(after), {.layout = layout});
}

// Lines added and removed in each function, and the first lines of the diff, where the whole diff would be long.
void print_change(Repl& repl, std::size_t version) {
  constexpr std::size_t kMost = 60, kFirst = 30;
  const session::Program& program = *repl.session().program();
  const session::Version made = program.version(version);
  const std::string before = *program.text(version - 1, session::TextFor::Comparing);
  const std::string after = *program.text(version, session::TextFor::Comparing);
  if (before == after) repl.print("no difference\n");
  std::size_t lines = 2;  // for the names
  for (const DiffHunk& hunk : diff_hunks(before, after)) lines += hunk.lines.size() + 1;
  const bool is_long = lines > kMost;
  if (is_long) {
    Table table({"function", "added", "removed"});
    for (const DiffStat& stat : diff_stat(program, program.history().module_at(version - 1),
                                          program.history().module_at(version), made.changed))
      table.add({stat.function, fmt::format("+{}", stat.count.added), fmt::format("-{}", stat.count.removed)});
    repl.print("{}", table.text());
  }
  const std::size_t left = show_difference(repl, before, after, "before " + made.pass, "after " + made.pass,
                                           {.most_lines = is_long ? kFirst : std::size_t(-1)});
  // A page has all of them.
  if (left > 0)
    repl.show(fmt::format("... {} more lines: `:diff {} {}` shows them all\n", left, version - 1, version), {});
}

std::string change_text(const session::Version& made) {
  return made.changed.empty() ? "no change" : fmt::format("changed {}", fmt::join(made.changed, ", "));
}

Status run_and_show(Repl& repl, std::string_view pipeline, bool show_diff) {
  source::Diagnostics diagnostics;
  session::Session& session = repl.session();
  const std::size_t first = session.program()->position() + 1;
  std::unique_ptr<session::Program> before = session.program()->copy();
  std::string running;  // the pass that fails, if one does
  pipeline::Announcer announcer([&](const pipeline::Invocation& pass) {
    running = pipeline::to_string(pass);
    repl.console().doing(running);
  });
  const bool ok = session.program()->run_passes(pipeline, diagnostics, {&announcer});
  const session::Program& program = *session.program();
  bool changed = false;
  for (std::size_t v = first; v <= program.position(); ++v) changed = changed || !program.version(v).changed.empty();
  if (changed && !repl.may_end_run(fmt::format("`{}`, which changes the program", pipeline))) {
    session.set_program(std::move(before));
    return Status::Failed;
  }
  if (repl.wants_json()) {
    Json applied = Json::array();
    for (std::size_t v = first; v <= program.position(); ++v) applied.push_back(pass_json(program, v));
    if (!ok && !running.empty())
      applied.push_back({{"pass", running}, {"ok", false}, {"nanoseconds", nullptr}, {"changed", Json::array()}});
    repl.give(applied);
  }
  for (std::size_t v = first; v <= program.position() && !repl.wants_json(); ++v) {
    const session::Version made = program.version(v);
    repl.print("{}: {}\n", made.pass, change_text(made));
    if (show_diff && !made.changed.empty()) print_change(repl, v);
  }
  repl.report(diagnostics);
  if (changed) {
    repl.debugger().kill();
    resolve_and_tell(repl);
  }
  return ok ? Status::Good : Status::Failed;
}

void print_options(Repl& repl, const pipeline::PassRow& pass) {
  if (pass.options.empty()) return repl.print("  it has no options\n");
  Table table({"option", "type", "default", ""});
  for (const pipeline::OptionInfo& o : pass.options)
    table.add({std::string(o.name), std::string(pipeline::to_string(o.type)), o.fallback, std::string(o.doc)});
  repl.print("{}", table.text());
}

}  // namespace

Status command_Passes(Repl& repl, std::string_view rest) {
  const pipeline::PassTable& table = session::passes_of(repl.session().program());
  const std::vector<const pipeline::PassRow*> all = table.passes();
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(passes_json(all));
    for (const pipeline::PassRow* p : all) print_item(repl, fmt::format("{:<28} ", p->name), p->doc);
    return Status::Good;
  }
  const pipeline::PassRow* p = table.find(rest);
  if (!p) {
    std::vector<std::string_view> names;
    for (const pipeline::PassRow* known : all) names.push_back(known->name);
    source::Message m = source::message(diag::UnknownPass, rest);
    const std::string_view near = source::nearest(rest, names);
    const bool several = table.find(support::trim(rest.substr(0, rest.find_first_of(",("))));
    m.hint = several        ? fmt::format("`:pipeline {}` applies passes", rest)
             : near.empty() ? "`:passes` lists them"
                            : fmt::format("did you mean `{}`?", near);
    return repl.fail(std::move(m));
  }
  if (repl.wants_json()) return repl.give(passes_json({p}));
  repl.print("{}: {}\n", p->name, p->doc);
  print_options(repl, *p);
  return Status::Good;
}

Status command_RunPass(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  return run_and_show(repl, rest, true);
}

Status command_StepPass(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  const std::string next = repl.session().program()->next_pass();
  if (!next.empty()) return run_and_show(repl, next, true);
  if (repl.wants_json()) return repl.give(Json::array());
  repl.print("the minimum build is complete\n");
  return Status::Good;
}

Status command_Pipeline(Repl& repl, std::string_view rest) {
  if (!rest.empty())
    return needs(repl, "`:pipeline`", session::kVersions) ? run_and_show(repl, rest, false) : Status::Failed;
  const std::span<const pipeline::NamedPipeline> all = session::passes_of(repl.session().program()).pipelines();
  if (repl.wants_json()) return repl.give(pipelines_json(all));
  for (const pipeline::NamedPipeline& p : all) repl.print("{}: {}\n  {}\n", p.name, p.doc, p.passes);
  return Status::Good;
}

Status command_History(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (repl.wants_json()) return repl.give(history_json(repl));
  const session::Program& program = *repl.session().program();
  for (std::size_t v = 0; v < program.version_count(); ++v) {
    std::string marks;
    for (const auto& [name, version] : program.bookmarks())
      if (version == v) marks += " [" + name + "]";
    const session::Version made = program.version(v);
    const std::string change = made.by == session::Version::By::Pass ? ": " + change_text(made) : "";
    repl.print("{} {}{}{}\n", v == program.position() ? "=>" : "  ", program.version_name(v), change, marks);
  }
  return Status::Good;
}

namespace {

// `--side-by-side` or `--unified` at the beginning of a text.
std::optional<DiffLayout> take_layout(std::string_view& rest) {
  for (const auto& [word, layout] : {std::pair<std::string_view, DiffLayout>{"--side-by-side", DiffLayout::SideBySide},
                                     std::pair<std::string_view, DiffLayout>{"--unified", DiffLayout::Unified}})
    if (rest.substr(0, rest.find_first_of(" \t")) == word) {
      rest = trim(rest.substr(word.size()));
      return layout;
    }
  return std::nullopt;
}

}  // namespace

Status command_Diff(Repl& repl, std::string_view rest) {
  const std::optional<DiffLayout> layout = take_layout(rest);
  if (rest.starts_with("-") || split_words(rest).size() > 2) return Status::Usage;
  const auto versions = two_versions(repl, rest);
  if (!versions) return Status::Failed;
  if (repl.wants_json()) return repl.give(diff_json(repl, versions->first, versions->second));
  print_difference(repl, versions->first, versions->second, layout);
  return Status::Good;
}

Status command_Bookmark(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (split_words(rest).size() != 1 || parse_count(rest))
    return repl.fail(source::message(diag::BadName, rest, "a version").with_hint("it is one word, and not a number"));
  session::Program& program = *repl.session().program();
  program.add_bookmark(std::string(rest));
  repl.print("version {} is {}\n", program.position(), rest);
  return Status::Good;
}

namespace {

struct ScheduleRequest {
  std::string kernel;
  std::optional<std::size_t> step;
  schedule::Options options;
};

std::optional<ScheduleRequest> read_schedule(std::string_view rest) {
  ScheduleRequest r;
  for (const std::string& word : split_words(rest)) {
    const std::string_view text = word;
    if (text.starts_with("--step=")) {
      r.step = parse_count(text.substr(7));
      if (!r.step || *r.step == 0) return std::nullopt;
    } else if (text.starts_with("--vector-bytes=")) {
      const auto bytes = parse_count(text.substr(15));
      if (!bytes || (*bytes != 16 && *bytes != 32 && *bytes != 64)) return std::nullopt;
      r.options.vector_bytes = unsigned(*bytes);
    } else if (text.starts_with("-") || !r.kernel.empty()) {
      return std::nullopt;
    } else {
      r.kernel = word;
    }
  }
  if (r.kernel.empty()) return std::nullopt;
  return r;
}

void print_steps(Repl& repl, const std::string& kernel, const ir::PrimFunc* f, const schedule::Result& result) {
  const ir::PrintOptions& print = repl.session().options().print;
  std::string before = ir::print_function(kernel, f, print), before_name = "as it is";
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    const schedule::Step& step = result.steps[i];
    const schedule::StepInfo& info = schedule::info_of(step.id);
    const std::string after = ir::print_function(kernel, step.after, print);
    const std::string name = fmt::format("after step {}", i + 1);
    repl.print("step {}: {} of `{}`: {}\n", i + 1, info.name, step.block, info.doc);
    show_difference(repl, before, after, before_name, name);
    before = after;
    before_name = name;
  }
}

}  // namespace

Status command_Schedule(Repl& repl, std::string_view rest) {
  auto request = read_schedule(rest);
  if (!request) return Status::Usage;
  source::Diagnostics diagnostics;
  const ir::PrimFunc* f = repl.session().find_kernel(request->kernel, diagnostics);
  repl.report(diagnostics);
  if (!f) return Status::Failed;
  if (schedule::is_scheduled(f)) {
    if (repl.wants_json()) return repl.give(schedule_json(repl, request->kernel, f, {f, {}}));
    repl.print("`{}` is scheduled already: its code is generated without changes\n", request->kernel);
    return Status::Good;
  }
  request->options.require_proof = repl.session().options().check_bounds;
  request->options.record = true;
  // As kernels of this session get it.
  const unsigned bytes = request->options.vector_bytes;
  schedule::Target target = bytes == 0 ? schedule::host_target() : schedule::Target{bytes, false, false, false};
  target.fast_sums = repl.session().options().fast_math;
  const schedule::Result result = schedule::default_schedule(repl.session().context(), f, request->options, target);
  if (request->step && *request->step > result.steps.size())
    return repl.fail(
        source::message(diag::NoSuchThing, "step", fmt::format("{} of {}", *request->step, result.steps.size())));
  if (repl.wants_json()) return repl.give(schedule_json(repl, request->kernel, f, result));
  if (request->step) {
    const ir::PrimFunc* after = result.steps[*request->step - 1].after;
    repl.console().write(ir::print_function(request->kernel, after, repl.session().options().print) + "\n");
  } else if (result.steps.empty()) {
    repl.print("the default schedule has no step for `{}`: its loops are unchanged\n", request->kernel);
  } else {
    print_steps(repl, request->kernel, f, result);
  }
  if (!request->step && schedule::flat_form(repl.session().context(), f))
    repl.print(
        "the code is made for a flat dim, whose size is given at run time: kernels that differ only in their "
        "dims share it (`:llvm {}`)\n",
        request->kernel);
  return Status::Good;
}

}  // namespace rldb::ui
