// Runs of a function from words as `:run` takes them: the arguments first, then the run up to its first stop.
// Users: `:run`, `:start`, `:time`, the debug adapter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

struct PreparedCall {
  std::string function;
  std::vector<runtime::Value> values;                // of the rank at the prompt
  std::vector<std::vector<runtime::Value>> by_rank;  // all ranks, at least one
};

// `[FUNCTION] [VALUE...]`. If `main` exists, a first word that is not a function is already a value. Values that are
// not given are made up, which is told. Null: reported.
std::optional<PreparedCall> prepare_call(Repl& repl, std::string_view words);
std::optional<PreparedCall> prepare_call(Repl& repl, std::vector<std::string> words);
// Of several ranks, the others run first. On the evaluator it runs to the end. Null: reported.
std::optional<debug::StopReport> start_call(Repl& repl, const PreparedCall& call, bool stop_at_entry);

}  // namespace rldb::ui
