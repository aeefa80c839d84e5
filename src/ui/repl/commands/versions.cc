#include "ui/repl/commands/versions.h"

#include <fmt/format.h>

#include "rldb/passes/pass.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_program.h"
#include "ui/repl/view.h"

namespace rldb::ui {

std::string version_name(const passes::History& history, std::size_t version) {
  if (version == 0) return "version 0 (loaded)";
  if (history.is_edit(version)) return fmt::format("version {} (edited)", version);
  return fmt::format("version {} ({})", version, passes::to_string(history.record(version).pass));
}

std::optional<std::size_t> version_of(Repl& repl, const std::string& text) {
  const passes::History& history = repl.session().history();
  for (const auto& [name, version] : history.bookmarks())
    if (name == text) return version;
  const auto number = parse_count(text);
  if (number && *number < history.size()) return std::size_t(*number);
  repl.fail(source::message(diag::NoSuchVersion, text));
  return std::nullopt;
}

std::optional<std::size_t> previous_version(Repl& repl) {
  const std::size_t now = repl.session().history().position();
  if (now > 0) return now - 1;
  repl.fail(source::message(diag::NoEarlierVersion));
  return std::nullopt;
}

std::optional<std::pair<std::size_t, std::size_t>> two_versions(Repl& repl, std::string_view rest) {
  const std::vector<std::string> words = split_words(rest);
  const passes::History& history = repl.session().history();
  if (words.size() > 2) return std::nullopt;
  if (history.size() == 0) {
    repl.fail(source::message(diag::NoProgram));
    return std::nullopt;
  }
  std::optional<std::size_t> before, after = history.position();
  if (words.empty())
    before = previous_version(repl);
  else
    before = version_of(repl, words[0]);
  if (words.size() == 2) after = version_of(repl, words[1]);
  if (!before || !after) return std::nullopt;
  return std::pair(*before, *after);
}

}  // namespace rldb::ui
