// Words of the language: everything that may follow `R.`, `T.` or `I.`, with its signature and a line about it. From
// the tables of operators and intrinsics, and word.def for the rest. Users: completion and hints of the prompt,
// protocol.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::frontend {

enum class WordKind : std::uint8_t { Operator, Intrinsic, Type, Value, Statement, Decorator };

struct Word {
  std::string name;  // `R.nn.relu`
  WordKind kind{};
  std::string signature;  // `R.nn.relu(data)`; empty: none is known
  std::string_view doc;
};

// Those that begin so (`R.`, `R.nn.`, `T.`), by name.
std::vector<Word> words_beginning(std::string_view prefix);
// Null: there is no such word. It stays as it is.
const Word* find_word(std::string_view name);

}  // namespace rldb::frontend
