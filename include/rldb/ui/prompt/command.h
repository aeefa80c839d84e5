// The command table of the prompt and the look-up in it: names, aliases, unique prefixes, did-you-mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/support/text.h"

namespace rldb::ui {

class Repl;

enum class CommandGroup : std::uint8_t { Module, Passes, Run, Debug, Session };
enum class Completion : std::uint8_t {
  None,
  File,
  Function,
  Place,
  Event,
  Version,
  Name,
  Pass,
  Engine,
  Command,
  Option,
  Screen,
  Time
};
enum CommandFlags : unsigned {
  kRepeat = 1,
  kBare = 2,
  kReplay = 4,
  kOutside = 8,
  kBlock = 16,
  kData = 32,
  kEntries = 64,
  kHasBars = 128
};

// How `:resume` treats an entry: skips it (it only showed something), repeats it, or reports that it does not.
enum class Replay : std::uint8_t { No, Yes, Outside };

// Failed: an error was reported. Usage: the arguments are invalid; the usage line is shown.
enum class Status : std::uint8_t { Good, Failed, Usage, Quit };

struct Command {
  std::string_view name;
  std::string_view aliases;
  std::string_view arguments;
  CommandGroup group;
  Completion completion;
  unsigned flags;
  unsigned needs;  // abilities of the program
  std::string_view doc;
  std::string_view more;
  Status (*run)(Repl&, std::string_view rest);
};

const std::vector<Command>& commands();
// `break [WHERE [if CONDITION]]`
std::string usage_of(const Command& command);
struct Lookup {
  const Command* command = nullptr;
  std::vector<std::string_view> candidates;  // several: ambiguous; one: the nearest spelling
};
Lookup find_command(std::string_view word);
// The same among debugger verbs only (no prefixes: a variable's name must not become a verb), with gdb's letters.
const Command* find_bare_verb(std::string_view word);
// By its full name, an alias, or a gdb letter; null: there is none.
const Command* find_command_named(std::string_view word);
// The command that a misspelt word without a colon may have meant; empty: none.
std::string_view nearest_command(std::string_view word);

// Splits an argument text into words: separated by blanks, held together by quotes.
std::vector<std::string> split_words(std::string_view text);
// The same for values: also held together by brackets, `(2xf32=1,2; 3)`.
std::vector<std::string> split_values(std::string_view text);
using support::trim;

}  // namespace rldb::ui
