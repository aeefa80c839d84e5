// Commands: the table, look-up by name, alias and prefix, and the verbs that work without a colon.
#include "rldb/ui/prompt/command.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "rldb/session/program_kind.h"
#include "rldb/source/diagnostic.h"
#include "rldb/ui/prompt/entry_flags.h"
#include "ui/prompt/commands/handlers.h"

namespace rldb::ui {

const std::vector<Command>& commands() {
  using enum CommandGroup;
  using enum session::AbilitySet;
  static const std::vector<Command> table{
#define RLDB_COMMAND(id, name, aliases, arguments, group, complete, flags, needs, doc, more) \
  {name, aliases, arguments, CommandGroup::group, Completion::complete, flags, needs, doc, more, command_##id},
#include "rldb/ui/prompt/command.def"
  };
  return table;
}

namespace {

bool has_alias(const Command& command, std::string_view word) {
  const std::string_view all = command.aliases;
  for (std::size_t at = all.find(word); at != all.npos && !word.empty(); at = all.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || all[at - 1] == ' ') && (end == all.size() || all[end] == ' ')) return true;
  }
  return false;
}

// Letters with another meaning after a colon.
constexpr std::pair<std::string_view, std::string_view> kGdbLetters[] = {{"l", "list"}};

// Words that begin TVMScript statements are not misspelt commands.
constexpr std::string_view kKeywords[] = {"as", "class",  "def", "else", "for", "from",
                                          "if", "import", "in",  "not",  "with"};

}  // namespace

Lookup find_command(std::string_view word) {
  Lookup found;
  for (const Command& c : commands())
    if (c.name == word || has_alias(c, word)) return {&c, {}};
  for (const Command& c : commands()) {
    if (!c.name.starts_with(word)) continue;
    found.command = &c;
    found.candidates.push_back(c.name);
  }
  if (found.candidates.size() == 1) return {found.command, {}};
  found.command = nullptr;
  if (!found.candidates.empty()) return found;
  std::vector<std::string_view> names;
  for (const Command& c : commands()) names.push_back(c.name);
  const std::string_view near = source::nearest(word, names);
  if (!near.empty()) found.candidates.push_back(near);
  return found;
}

const Command* find_bare_verb(std::string_view word) {
  const Command* c = find_command_named(word);
  return c && (c->flags & kBare) ? c : nullptr;
}

bool is_entry_of(std::string_view entry, EntryFlags flag) {
  entry = trim(entry);
  if (!entry.starts_with(':')) return false;
  const std::string_view word = entry.substr(1, entry.find_first_of(" \t\n") - 1);
  // Without allocating memory: entries are looked at where nothing catches a failure.
  const Command* command = find_command_named(word);
  return command && (command->flags & flag);
}

const Command* find_command_named(std::string_view word) {
  for (const auto& [letter, name] : kGdbLetters)
    if (letter == word) word = name;
  for (const Command& c : commands())
    if (c.name == word || has_alias(c, word)) return &c;
  return nullptr;
}

std::string usage_of(const Command& command) {
  std::string text(command.name);
  if (!command.arguments.empty()) text += " " + std::string(command.arguments);
  return text;
}

std::string_view nearest_command(std::string_view word) {
  constexpr std::size_t kShortest = 4;  // shorter words are close to too many others
  if (word.size() < kShortest || std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords))
    return {};
  if (const Command* begun = find_command(word).command) return begun->name;
  std::vector<std::string_view> names;
  for (const Command& c : commands()) names.push_back(c.name);
  return source::nearest(word, names);
}

namespace {

std::vector<std::string> split(std::string_view text, bool brackets) {
  std::vector<std::string> words;
  std::size_t i = 0;
  while (true) {
    while (i < text.size() && std::isspace(static_cast<unsigned char>(text[i]))) ++i;
    if (i == text.size()) return words;
    std::string word;
    int depth = 0;
    while (i < text.size() && (depth > 0 || !std::isspace(static_cast<unsigned char>(text[i])))) {
      const char c = text[i];
      if (c != '"' && c != '\'') {
        if (brackets) depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
        word += c;
        ++i;
        continue;
      }
      const auto close = text.find(c, i + 1);
      if (close == std::string_view::npos) {  // a lone apostrophe
        word += text.substr(i);
        i = text.size();
      } else {
        // Within brackets quotes are a part of the value: `np.zeros((2,), 'int8')`.
        word += depth > 0 ? text.substr(i, close + 1 - i) : text.substr(i + 1, close - i - 1);
        i = close + 1;
      }
    }
    words.push_back(std::move(word));
  }
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) { return split(text, false); }
std::vector<std::string> split_values(std::string_view text) { return split(text, true); }

}  // namespace rldb::ui
