#include "ui/prompt/commands/help_text.h"

#include <algorithm>

#include "rldb/ui/prompt/reader.h"
#include "rldb/ui/render/wrap.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kPrompt = "rldb> ";
constexpr std::string_view kMore = "...> ";
constexpr std::string_view kTour = "tour";

// The command in an entry; null: there is none.
const Command* command_of(std::string_view entry) {
  const bool colon = entry.starts_with(':');
  if (colon) entry.remove_prefix(1);
  std::size_t end = 0;
  while (end < entry.size() && (std::isalnum(static_cast<unsigned char>(entry[end])) || entry[end] == '-')) ++end;
  const std::string_view word = entry.substr(0, end);
  if (word.empty() || trim(entry.substr(end)).starts_with('=')) return nullptr;
  return colon ? find_command(word).command : find_command_named(word);
}

std::string with_prompts(std::string_view entry) {
  std::string text(kPrompt);
  for (const char c : entry) {
    text += c;
    if (c == '\n') text += kMore;
  }
  return text + "\n";
}

std::string comments(const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end,
                     std::size_t columns) {
  std::string text;
  for (std::size_t i = begin; i < end && i < lines.size(); ++i)
    if (lines[i].starts_with('#') && !lines[i].starts_with("#|"))
      text += wrapped("", trim(lines[i].substr(1)), columns) + "\n";
  return text;
}

}  // namespace

const HelpSession* find_help_session(std::string_view name) {
  for (const HelpSession& s : help_sessions())
    if (s.name == name) return &s;
  return nullptr;
}

std::string_view title_of(const HelpSession& session) {
  std::string_view line = session.text.substr(0, session.text.find('\n'));
  return line.starts_with('#') ? trim(line.substr(1)) : line;
}

std::string transcript(std::string_view session, std::size_t columns) {
  ScriptReader reader(session);
  std::string text;
  std::size_t seen = 0;
  while (const auto entry = reader.next()) {
    const std::string said = comments(reader.lines(), seen, entry->line - 1, columns);
    if (!said.empty()) text += (text.empty() ? "" : "\n") + said;
    seen = entry->expected_end;
    text += with_prompts(entry->text);
    for (const std::string& line : entry->expected) text += line + "\n";
  }
  return text + comments(reader.lines(), seen, reader.lines().size(), columns);
}

std::string example_of(const Command& command) {
  constexpr std::size_t kMostLines = 8;
  for (const HelpSession& session : help_sessions()) {
    ScriptReader reader(session.text);
    while (const auto entry = reader.next()) {
      if (command_of(entry->text) != &command) continue;
      std::string text = with_prompts(entry->text);
      for (std::size_t i = 0; i < std::min(entry->expected.size(), kMostLines); ++i) text += entry->expected[i] + "\n";
      return entry->expected.size() > kMostLines ? text + "...\n" : text;
    }
  }
  return {};
}

std::vector<TourStep> tour_steps(std::size_t columns) {
  std::vector<TourStep> steps;
  const HelpSession* tour = find_help_session(kTour);
  if (!tour) return steps;
  ScriptReader reader(tour->text);
  std::size_t seen = 0;
  while (const auto entry = reader.next()) {
    steps.push_back({comments(reader.lines(), seen, entry->line - 1, columns), entry->text});
    seen = entry->expected_end;
  }
  steps.push_back({comments(reader.lines(), seen, reader.lines().size(), columns), {}});
  return steps;
}

}  // namespace rldb::ui
