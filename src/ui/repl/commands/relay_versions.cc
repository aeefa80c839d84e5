// Passes of the Relay VM's compiler at the prompt, and the versions they create.
#include "ui/repl/commands/relay_versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/passes/pass.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_repro.h"
#include "ui/repl/data/data.h"
#include "ui/repl/view.h"

namespace rldb::ui {

namespace {

using session::RelayHistory;
using session::RelayVersion;

// Without the elements of constants, which would come first in a diff.
std::string text_of(const RelayVersion& version, bool metadata = false) {
  return session::relay_machine()->text(version, metadata);
}

void show_versions(Repl& repl, const RelayHistory& history, std::size_t before, std::size_t after,
                   const std::optional<DiffLayout>& layout) {
  const std::string a = text_of(history.versions[before]), b = text_of(history.versions[after]);
  if (a == b) repl.print("no difference\n");
  show_difference(repl, a, b, history.name(before), history.name(after), {.layout = layout});
}

Json record_json(const RelayVersion& version) {
  return {{"pass", version.pass}, {"changed", version.changed}, {"nanoseconds", version.nanoseconds}};
}

// A number or a bookmark. None: diagnosed.
std::optional<std::size_t> version_of(Repl& repl, const RelayHistory& history, const std::string& text) {
  for (const auto& [name, version] : history.bookmarks)
    if (name == text) return version;
  const auto number = parse_count(text);
  if (number && *number < history.versions.size()) return std::size_t(*number);
  repl.fail(source::message(diag::NoSuchVersion, text));
  return std::nullopt;
}

// The one before the current one. None: diagnosed.
std::optional<std::size_t> previous_version(Repl& repl, const RelayHistory& history) {
  if (history.position > 0) return history.position - 1;
  repl.fail(source::message(diag::NoEarlierVersion));
  return std::nullopt;
}

// The program becomes the current version of `history`. A stopped run ends.
Status become(Repl& repl, RelayHistory history) {
  source::Diagnostics found;
  const bool ok = session::set_relay_history(repl.session(), std::move(history), found);
  repl.report(found);
  if (!ok) return Status::Failed;
  repl.debugger().kill();
  resolve_and_tell(repl);
  return Status::Good;
}

Status go_to(Repl& repl, RelayHistory history, std::size_t version) {
  if (version == history.position) {
    repl.print("at {}\n", history.name(version));
    return Status::Good;
  }
  if (!repl.may_end_run(fmt::format("going to version {}", version))) return Status::Failed;
  history.position = version;
  const std::string name = history.name(version);
  if (become(repl, std::move(history)) != Status::Good) return Status::Failed;
  repl.print("at {}\n", name);
  return Status::Good;
}

// A copy: changes do not affect the session's own.
RelayHistory present(Repl& repl) { return *session::relay_history(repl.session()); }

// The passes of the pipeline `minimum` not yet applied, each as often as it occurs there.
std::optional<relay::PassInvocation> next_pass(const RelayHistory& history) {
  source::Diagnostics ignored;
  const auto minimum = relay::parse_passes(relay::kMinimumPipeline, ignored);
  std::vector<std::string> applied;
  for (std::size_t v = 1; v <= history.position; ++v) {
    const std::string& pass = history.versions[v].pass;
    applied.push_back(pass.substr(0, pass.find('(')));
  }
  for (const relay::PassInvocation& pass : *minimum) {
    const auto at = std::find(applied.begin(), applied.end(), relay::info(pass.id).name);
    if (at == applied.end()) return pass;
    applied.erase(at);
  }
  return std::nullopt;
}

}  // namespace

bool is_relay(Repl& repl) { return session::relay_history(repl.session()) != nullptr; }

const source::Buffer* relay_text(Repl& repl) {
  if (!is_relay(repl)) return nullptr;
  const source::SourceManager& sources = repl.session().sources();
  for (std::size_t i = sources.size(); i > 0; --i) {
    const source::Buffer& text = sources.get(source::FileId{std::uint32_t(i)});
    if (text.name() == repl.session().program_path() && frontend::is_relay(text.name(), text.text())) return &text;
  }
  return nullptr;
}

Status relay_passes(Repl& repl, std::string_view rest) {
  Json list = Json::array();
  bool any = false;
  for (const relay::PassId id : relay::all_passes()) {
    const relay::PassInfo& p = relay::info(id);
    if (!rest.empty() && rest != p.name && rest != p.short_name) continue;
    any = true;
    list.push_back({{"name", p.name}, {"options", p.options}, {"doc", p.doc}});
    if (repl.wants_json()) continue;
    if (rest.empty())
      repl.print("{:<28} {}\n", p.name, p.doc);
    else
      repl.print("{}: {}\n  options: {}\n", p.name, p.doc, p.options.empty() ? "none" : p.options);
  }
  if (!any) return repl.fail(source::message(diag::RelayUnknownPass, rest));
  return repl.wants_json() ? repl.give(list) : Status::Good;
}

Status relay_run_passes(Repl& repl, std::string_view pipeline, bool show_diff) {
  RelayHistory history = present(repl);
  const std::size_t first = history.position + 1;
  source::Diagnostics found;
  const auto build = repl.session().viewable(found);
  const bool ok = session::relay_machine()->run_passes(repl.session(), *build, pipeline, history, found);
  const auto begin = history.versions.begin() + std::ptrdiff_t(std::min(first, history.versions.size()));
  const auto end = history.versions.begin() + std::ptrdiff_t(history.position + 1);
  const bool made = history.position >= first;
  const bool changed = made && std::any_of(begin, end, [](const RelayVersion& v) { return !v.changed.empty(); });
  if (changed && !repl.may_end_run(fmt::format("`{}`, which changes the program", pipeline))) return Status::Failed;
  Json applied = Json::array();
  for (std::size_t v = first; v <= history.position; ++v) {
    const RelayVersion& version = history.versions[v];
    applied.push_back(record_json(version));
    if (repl.wants_json()) continue;
    repl.print("{}: {}\n", version.pass,
               version.changed.empty() ? "no change" : fmt::format("changed {}", fmt::join(version.changed, ", ")));
    if (show_diff && !version.changed.empty()) show_versions(repl, history, v - 1, v, std::nullopt);
  }
  if (repl.wants_json()) repl.give(applied);
  repl.report(found);
  const Status became = made ? become(repl, std::move(history)) : Status::Good;
  return ok ? became : Status::Failed;
}

Status relay_step_pass(Repl& repl) {
  const auto next = next_pass(present(repl));
  if (next) return relay_run_passes(repl, relay::to_string(*next), true);
  repl.print("the program is ready for code generation\n");
  return Status::Good;
}

Status relay_pipelines(Repl& repl) {
  Json list = Json::array();
  for (const relay::PipelineInfo& p : relay::named_pipelines()) {
    list.push_back({{"name", p.name}, {"passes", p.passes}, {"doc", p.doc}});
    if (!repl.wants_json()) repl.print("{}: {}\n  {}\n", p.name, p.doc, p.passes);
  }
  return repl.wants_json() ? repl.give(list) : Status::Good;
}

Status relay_list_versions(Repl& repl) {
  const RelayHistory history = present(repl);
  Json list = Json::array();
  for (std::size_t v = 0; v < history.versions.size(); ++v) {
    list.push_back(record_json(history.versions[v]));
    if (repl.wants_json()) continue;
    std::string marks, changed;
    for (const auto& [name, version] : history.bookmarks)
      if (version == v) marks += " [" + name + "]";
    const auto& names = history.versions[v].changed;
    if (v > 0) changed = names.empty() ? ": no change" : fmt::format(": changed {}", fmt::join(names, ", "));
    repl.print("{} {}{}{}\n", v == history.position ? "=>" : "  ", history.name(v), changed, marks);
  }
  return repl.wants_json() ? repl.give({{"versions", list}, {"position", history.position}}) : Status::Good;
}

Status relay_diff(Repl& repl, std::string_view rest, const std::optional<DiffLayout>& layout) {
  const RelayHistory history = present(repl);
  const std::vector<std::string> words = split_words(rest);
  const auto before = words.empty() ? previous_version(repl, history) : version_of(repl, history, words[0]);
  std::optional<std::size_t> after = history.position;
  if (before && words.size() == 2) after = version_of(repl, history, words[1]);
  if (!before || !after) return Status::Failed;
  if (repl.wants_json())
    return repl.give({{"before", text_of(history.versions[*before])}, {"after", text_of(history.versions[*after])}});
  show_versions(repl, history, *before, *after, layout);
  return Status::Good;
}

Status relay_rewind(Repl& repl, std::string_view rest) {
  RelayHistory history = present(repl);
  const auto version = version_of(repl, history, std::string(rest));
  return version ? go_to(repl, std::move(history), *version) : Status::Failed;
}

Status relay_undo(Repl& repl, bool redo) {
  RelayHistory history = present(repl);
  const std::size_t last = history.versions.size() - 1;
  const bool possible = redo ? history.position < last : history.position > 0;
  if (!possible) return repl.fail(source::message(diag::NoMoreVersions, redo ? "redo" : "undo"));
  const std::size_t to = redo ? history.position + 1 : history.position - 1;
  return go_to(repl, std::move(history), to);
}

Status relay_bookmark(Repl& repl, std::string_view rest) {
  RelayHistory history = present(repl);
  history.bookmarks.emplace_back(std::string(rest), history.position);
  repl.print("version {} is {}\n", history.position, rest);
  source::Diagnostics found;
  const bool ok = session::set_relay_history(repl.session(), std::move(history), found);
  repl.report(found);
  return ok ? Status::Good : Status::Failed;
}

Status relay_validate(Repl& repl, std::string_view rest) {
  const RelayHistory history = present(repl);
  const auto before = rest.empty() ? previous_version(repl, history) : version_of(repl, history, std::string(rest));
  if (!before) return Status::Failed;
  source::Diagnostics found;
  const auto build = repl.session().viewable(found);
  bool same = false;
  const std::string text = session::relay_machine()->compare_versions(repl.session(), *build, *before, same);
  if (!same) return repl.fail(source::message(diag::ValuesChanged, history.name(*before), text));
  repl.print("{}: {}\n", history.name(*before), text);
  return Status::Good;
}

Status relay_show(Repl& repl, std::string_view rest) {
  const RelayHistory history = present(repl);
  const RelayVersion& version = history.versions[history.position];
  if (rest.empty()) {
    repl.print("{}\n", text_of(version, true));
    return Status::Good;
  }
  if (rest.starts_with('@')) rest.remove_prefix(1);
  const relay::Function* f = version.module->find(rest);
  if (!f) return repl.fail(source::message(diag::NoSuchThing, "function", rest));
  repl.print("{}\n", relay::print_expr(f));
  return Status::Good;
}

}  // namespace rldb::ui
