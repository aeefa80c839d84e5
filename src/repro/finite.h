// Inputs on which a program computes numbers: where both sides of a comparison are NaN, a difference is invisible.
// Room-private.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rldb/session/session.h"

namespace rldb::repro {

// How much of a run is lost, as elements that are NaN or infinite.
struct Lost {
  std::int64_t of_result = 0;
  std::int64_t on_the_way = 0;
  friend auto operator<=>(const Lost&, const Lost&) = default;
};

// A run of the program whose inputs are looked for. None: it failed.
struct FiniteRun {
  runtime::Value result;
  Lost lost;
};
using RunForFinite = std::function<std::optional<FiniteRun>(const std::vector<runtime::Value>& args)>;

// Runs a function of a module by the session's options, and counts what is lost at each binding.
std::optional<FiniteRun> run_for_finite(session::Session& session, const ir::Module* module, std::string_view function,
                                        const std::vector<runtime::Value>& args);

// Puts other numbers in the place of generated ones (positive, around 1, larger, small, negative; of all parameters,
// then of one after the other) for as long as less is lost. Arguments that do not run are not kept. The numbers in
// words; empty: nothing better was found, and `args` is unchanged.
std::string prefer_finite(std::vector<runtime::Value>& args, const std::vector<bool>& generated, FiniteRun& run,
                          const RunForFinite& again);

}  // namespace rldb::repro
