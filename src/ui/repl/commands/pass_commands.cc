// Commands about passes and versions.
#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/printer.h"
#include "rldb/schedule/schedule.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/source/diagnostic_program.h"
#include "ui/diff_stat.h"
#include "ui/draw/table.h"
#include "ui/repl/commands/relay_versions.h"
#include "ui/repl/commands/versions.h"
#include "ui/repl/data/data.h"
#include "ui/repl/entry/state.h"
#include "ui/repl/list_text.h"
#include "ui/repl/view.h"

namespace rldb::ui {

namespace {

void print_difference(Repl& repl, const ir::Module* before, const ir::Module* after, const std::string& before_name,
                      const std::string& after_name, const std::optional<DiffLayout>& layout) {
  const ir::PrintOptions& print = repl.session().options().print;
  const std::string a = ir::print(before, print), b = ir::print(after, print);
  if (a == b) repl.print("no difference\n");
  show_difference(repl, a, b, before_name, after_name, {.layout = layout});
}

// Lines added and removed in each function, and the first lines of the diff, where the whole diff would be long.
void print_change(Repl& repl, const passes::PassRecord& r, std::size_t version) {
  constexpr std::size_t kMost = 60, kFirst = 30;
  const ir::PrintOptions& print = repl.session().options().print;
  const std::string name = passes::to_string(r.pass);
  const std::string before = ir::print(r.before, print), after = ir::print(r.after, print);
  if (before == after) repl.print("no difference\n");
  std::size_t lines = 2;  // for the names
  for (const DiffHunk& hunk : diff_hunks(before, after)) lines += hunk.lines.size() + 1;
  const bool is_long = lines > kMost;
  if (is_long) {
    Table table({"function", "added", "removed"});
    for (const DiffStat& stat : diff_stat(r.before, r.after, r.changed, print))
      table.add({stat.function, fmt::format("+{}", stat.count.added), fmt::format("-{}", stat.count.removed)});
    repl.print("{}", table.text());
  }
  const std::size_t left = show_difference(repl, before, after, "before " + name, "after " + name,
                                           {.most_lines = is_long ? kFirst : std::size_t(-1)});
  // A page has all of them.
  if (left > 0)
    repl.show(fmt::format("... {} more lines: `:diff {} {}` shows them all\n", left, version - 1, version), {});
}

Status run_and_show(Repl& repl, std::string_view pipeline, bool show_diff) {
  source::Diagnostics diagnostics;
  std::vector<passes::PassRecord> records;
  passes::RunOptions options;
  options.verify_each = repl.session().options().verify_each;
  options.before = [&](const passes::PassInvocation& pass, const ir::Module*) {
    repl.console().doing(passes::to_string(pass));
    return true;
  };
  options.after = [&](const passes::PassRecord& r) { records.push_back(r); };
  const std::size_t version = repl.session().history().position();
  const bool ok = repl.session().run_passes(pipeline, diagnostics, options);
  const bool changed =
      std::any_of(records.begin(), records.end(), [](const passes::PassRecord& r) { return !r.changed.empty(); });
  if (changed && !repl.may_end_run(fmt::format("`{}`, which changes the program", pipeline))) {
    repl.session().history().rewind(version);
    return Status::Failed;
  }
  if (repl.wants_json()) {
    Json applied = Json::array();
    for (const passes::PassRecord& r : records) applied.push_back(pass_record_json(r, repl.session().options().print));
    repl.give(applied);
    records.clear();
  }
  // Each pass has made a version; the last one is the current one.
  std::size_t made =
      repl.session().history().position() - std::min(records.size(), repl.session().history().position());
  for (const passes::PassRecord& r : records) {
    ++made;
    if (!r.after) continue;
    repl.print("{}: {}\n", passes::to_string(r.pass),
               r.changed.empty() ? "no change" : "changed " + fmt::format("{}", fmt::join(r.changed, ", ")));
    if (show_diff && !r.changed.empty()) print_change(repl, r, made);
  }
  repl.report(diagnostics);
  if (changed) {
    repl.debugger().kill();
    resolve_and_tell(repl);
  }
  return ok ? Status::Good : Status::Failed;
}

}  // namespace

Status command_Passes(Repl& repl, std::string_view rest) {
  if (is_relay(repl)) return relay_passes(repl, rest);
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(passes_json(passes::all_passes()));
    for (const passes::PassInfo& p : passes::all_passes()) print_item(repl, fmt::format("{:<28} ", p.name), p.doc);
    return Status::Good;
  }
  const passes::PassInfo* p = passes::find_pass(rest);
  if (!p) {
    std::vector<std::string_view> names;
    for (const passes::PassInfo& known : passes::all_passes()) names.push_back(known.name);
    source::Message m = source::message(diag::UnknownPass, rest);
    const std::string_view near = source::nearest(rest, names);
    m.hint = near.empty() ? "`:passes` lists them" : fmt::format("did you mean `{}`?", near);
    return repl.fail(std::move(m));
  }
  if (repl.wants_json()) return repl.give(passes_json({*p}));
  repl.print("{}: {}\n", p->name, p->doc);
  repl.print("  options: {}\n", p->options.empty() ? "none" : p->options);
  return Status::Good;
}

Status command_RunPass(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_run_passes(repl, rest, true);
  return run_and_show(repl, rest, true);
}

// The first pass of the pipeline that has not been applied since the module was loaded or edited, in whatever order the
// others were.
static auto next_pass(const passes::History& history, const std::vector<passes::PassInvocation>& pipeline) {
  std::vector<decltype(passes::PassInvocation::id)> applied;
  for (std::size_t v = 1; v <= history.position(); ++v) {
    if (history.is_edit(v))
      applied.clear();
    else
      applied.push_back(history.record(v).pass.id);
  }
  return std::find_if(pipeline.begin(), pipeline.end(), [&](const passes::PassInvocation& p) {
    const auto at = std::find(applied.begin(), applied.end(), p.id);
    if (at == applied.end()) return true;
    applied.erase(at);  // a pass that occurs twice in the pipeline is applied twice
    return false;
  });
}

Status command_StepPass(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_step_pass(repl);
  const auto minimum = passes::parse_pipeline("minimum");
  if (!minimum.ok()) return repl.fail(minimum.error());
  const passes::History& history = repl.session().history();
  if (!repl.session().module()) return repl.fail(source::message(diag::NoProgram));
  const auto next = next_pass(history, *minimum);
  if (next == minimum->end()) {
    if (repl.wants_json()) return repl.give(Json::array());
    repl.print("the minimum build is complete\n");
    return Status::Good;
  }
  return run_and_show(repl, passes::to_string(*next), true);
}

Status command_Pipeline(Repl& repl, std::string_view rest) {
  if (is_relay(repl)) return rest.empty() ? relay_pipelines(repl) : relay_run_passes(repl, rest, false);
  if (!rest.empty()) return run_and_show(repl, rest, false);
  if (repl.wants_json()) return repl.give(pipelines_json());
  for (const passes::PipelineInfo& p : passes::named_pipelines()) repl.print("{}: {}\n  {}\n", p.name, p.doc, p.passes);
  return Status::Good;
}

Status command_History(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (is_relay(repl)) return relay_list_versions(repl);
  const passes::History& history = repl.session().history();
  if (history.size() == 0) return repl.fail(source::message(diag::NoProgram));
  if (repl.wants_json()) return repl.give(history_json(repl));
  for (std::size_t v = 0; v < history.size(); ++v) {
    std::string marks;
    for (const auto& [name, version] : history.bookmarks())
      if (version == v) marks += " [" + name + "]";
    std::string changed;
    if (v > 0 && !history.is_edit(v)) {
      const auto& names = history.record(v).changed;
      changed = names.empty() ? ": no change" : fmt::format(": changed {}", fmt::join(names, ", "));
    }
    repl.print("{} {}{}{}\n", v == history.position() ? "=>" : "  ", version_name(history, v), changed, marks);
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
  if (is_relay(repl)) return relay_diff(repl, rest, layout);
  const auto versions = two_versions(repl, rest);
  if (!versions) return Status::Failed;
  const passes::History& history = repl.session().history();
  if (repl.wants_json()) return repl.give(diff_json(repl, versions->first, versions->second));
  print_difference(repl, history.module_at(versions->first), history.module_at(versions->second),
                   version_name(history, versions->first), version_name(history, versions->second), layout);
  return Status::Good;
}

Status command_Bookmark(Repl& repl, std::string_view rest) {
  if (rest.empty()) return Status::Usage;
  if (split_words(rest).size() != 1 || parse_count(rest))
    return repl.fail(source::message(diag::BadName, rest, "a version").with_hint("it is one word, and not a number"));
  if (is_relay(repl)) return relay_bookmark(repl, rest);
  if (repl.session().history().size() == 0) return repl.fail(source::message(diag::NoProgram));
  repl.session().history().bookmark(std::string(rest));
  repl.print("version {} is {}\n", repl.session().history().position(), rest);
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
  const schedule::Result result = schedule::default_schedule(repl.session().context(), f, request->options);
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
  return Status::Good;
}

}  // namespace rldb::ui
