// Runs of a function from words as `:run` takes them: the arguments first, then the run up to its first stop.
// Users: `:run`, `:start`, `:time`, `:profile`, the debug adapter, the live page.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/profile.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

struct PreparedCall {
  std::string function;
  std::vector<runtime::Value> values;                // of the rank at the prompt
  std::vector<std::vector<runtime::Value>> by_rank;  // all ranks, at least one
  bool any_generated = false;
};

// `[FUNCTION] [VALUE...]`. If `main` exists, a first word that is not a function is already a value. Values that are
// not given are generated, which is said. Null: reported.
std::optional<PreparedCall> prepare_call(Repl& repl, std::string_view words);
std::optional<PreparedCall> prepare_call(Repl& repl, std::vector<std::string> words);

struct ProfiledCall {
  std::vector<debug::Profile> profiles;  // empty: reported
  bool completed = false;                // its result is `_`
};
// `rates`: those of the machine too, as bounds; they are measured once and kept.
ProfiledCall profile_call(Repl& repl, std::vector<std::string> words, std::size_t runs, bool rates,
                          std::vector<debug::DeviceCosts> devices = {});

// Of several ranks, the others run first. On the evaluator it runs to the end. Null: reported.
std::optional<debug::StopReport> start_call(Repl& repl, const PreparedCall& call, bool stop_at_entry);

}  // namespace rldb::ui
