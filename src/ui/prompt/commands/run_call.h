// `[FUNCTION] VALUE...` of the commands that run something.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

struct Call {
  std::string function;
  std::vector<runtime::Value> values;                // of the rank at the prompt
  std::vector<std::vector<runtime::Value>> by_rank;  // all ranks, at least one
};
// If `main` exists, a first word that is not a function is already a value. Values that are not given are made up,
// which is told. Nullopt: diagnosed.
std::optional<Call> read_call(Repl& repl, std::string_view rest);
std::optional<Call> read_call(Repl& repl, std::vector<std::string> words);

}  // namespace rldb::ui
