// Options of the commands that find faults: `--oracle=nan`, `--rtol=1e-3`, among the words of an entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/oracle.h"
#include "rldb/support/entry_function.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

struct ReproFlags {
  repro::Tolerances tolerances;
  repro::OracleKind oracle = repro::OracleKind::Any;
  std::optional<repro::MemoryLimit> memory;
  std::optional<repro::TimeLimit> time;
  std::string test;
  std::vector<runtime::Value> expected;  // leaf by leaf
  std::string function{support::kEntryFunction};
  std::string passes;
  std::string other_passes;
  std::optional<session::Engine> other_engine;
  bool by_kernel = false;
  bool shadow = false;
};

// Takes the options out of the words, and tolerances from `:set` where none are given. None: diagnosed.
std::optional<ReproFlags> take_repro_flags(Repl& repl, std::vector<std::string>& words);

}  // namespace rldb::ui
