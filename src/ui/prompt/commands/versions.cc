#include "ui/prompt/commands/versions.h"

#include <fmt/format.h>

#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/ui/prompt/data.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

std::optional<std::size_t> version_of(Repl& repl, const std::string& text) {
  const session::Program& program = *repl.session().program();
  for (const auto& [name, version] : program.bookmarks())
    if (name == text) return version;
  const auto number = parse_count(text);
  if (number && *number < program.version_count()) return std::size_t(*number);
  repl.fail(source::message(diag::NoSuchVersion, text));
  return std::nullopt;
}

std::optional<std::size_t> previous_version(Repl& repl) {
  const std::size_t now = repl.session().program()->position();
  if (now > 0) return now - 1;
  repl.fail(source::message(diag::NoEarlierVersion));
  return std::nullopt;
}

std::optional<std::pair<std::size_t, std::size_t>> two_versions(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  if (words.size() > 2) return std::nullopt;
  std::optional<std::size_t> before, after = repl.session().program()->position();
  if (words.empty())
    before = previous_version(repl);
  else
    before = version_of(repl, words[0]);
  if (words.size() == 2) after = version_of(repl, words[1]);
  if (!before || !after) return std::nullopt;
  return std::pair(*before, *after);
}

Status go_to_version(Repl& repl, std::size_t version) {
  session::Program& program = *repl.session().program();
  if (version != program.position() && !repl.may_end_run(fmt::format("going to version {}", version)))
    return Status::Failed;
  (void)program.go_to(version);
  repl.debugger().kill();
  if (repl.wants_json())
    repl.give(version_json(repl));
  else
    repl.print("at version {}\n", version);
  resolve_and_tell(repl);
  return Status::Good;
}

}  // namespace rldb::ui
