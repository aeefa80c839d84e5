// Commands to customize the prompt: alias, trust; and the tour.
#include <fmt/format.h>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/ui/prompt/data.h"
#include "rldb/ui/prompt/entry_flags.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/help_text.h"
#include "ui/prompt/entry/frame_scope.h"
#include "ui/prompt/list_text.h"
#include "ui/prompt/start_files.h"

namespace rldb::ui {

Status command_Alias(Repl& repl, std::string_view rest) {
  if (rest.empty()) {
    if (repl.wants_json()) return repl.give(aliases_json(repl));
    if (repl.aliases.empty()) repl.print("no aliases\n");
    for (const auto& [name, entry] : repl.aliases) repl.print("{} = {}\n", name, entry.text);
    return Status::Good;
  }
  const auto equals = rest.find('=');
  const std::string_view name = trim(rest.substr(0, equals));
  const std::string_view text = equals == std::string_view::npos ? std::string_view() : trim(rest.substr(equals + 1));
  if (!is_one_name(name) || name.starts_with('$'))
    return repl.fail(source::message(diag::BadAlias, name, "it is not one word"));
  if (find_command_named(name)) return repl.fail(source::message(diag::BadAlias, name, "it is a command"));
  if (text.empty())
    repl.aliases.erase(std::string(name));
  else
    repl.aliases.insert_or_assign(std::string(name), debug::StoredEntry{std::string(text), repl.author()});
  if (repl.wants_json()) return repl.give(aliases_json(repl));
  return Status::Good;
}

Status command_Trust(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  if (!repl.may("have a start-up file trusted", ":trust")) return Status::Failed;
  std::string trusted, why;
  if (!trust_folder(trusted, why))
    return repl.fail(source::message(diag::FileNotWritten, "the list of trusted files", why));
  repl.print("`{}` is read from now on when rldb is started here, until it changes\n", trusted);
  return Status::Good;
}

// Runs in a session of its own: the user's program and values stay as they are.
Status command_Tour(Repl& repl, std::string_view rest) {
  if (!rest.empty()) return Status::Usage;
  CommandLine line;
  line.prompt.batch = true;
  Repl guide(line, repl.console());
  repl.console().without_pages();
  for (const TourStep& step : tour_steps(columns_of_reader(repl))) {
    repl.print("\n{}", step.comment);
    if (step.entry.empty()) break;
    repl.print("{}{}\n", guide.prompt(), step.entry);
    if (repl.go_on && !repl.go_on()) break;
    if (is_entry_of(step.entry, kChecks)) continue;
    if (guide.execute(step.entry) == Status::Quit) break;
    if (support::cancel_flag()) return Status::Failed;
  }
  return Status::Good;
}

}  // namespace rldb::ui
