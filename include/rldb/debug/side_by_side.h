// Two runs next to each other: of two versions or engines in lockstep, or of one program on other inputs.
//
// In lockstep the first run is executed whole and its values are kept; the second one stops behind the first binding
// whose value differs. Bindings correspond by provenance: both are bindings of the text as it was written; those that
// only one side has (fused, folded) are passed over. Values of which a function has
// several, by recursion, correspond in their order. Afterwards both runs can be asked and stepped: one is the
// debugger's present run, the other waits. User: `:lockstep`, `:rerun`, `:side`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

class Run;

// A run that has not begun.
struct Side {
  std::string label;
  std::shared_ptr<Run> run;
};
// Of the session's present program, on the engine of its options; the arguments are copied. Nullopt: diagnosed.
std::optional<Side> prepare_side(Debugger& debugger, std::string label, std::string_view function,
                                 std::span<const runtime::Value> args, source::Diagnostics& out);

// Where two values differ.
struct ValueDifference {
  std::string name;         // `lv1`, with fields: `t[1]`
  std::string element;      // `[2, 3]`, if both are tensors of one shape
  std::string left, right;  // of the element, or of the whole
  std::string summary;      // `3 of 12 elements, the largest difference is 0.5 at [1, 2]`; empty: not of one shape
};

struct Lockstep {
  enum class Verdict : std::uint8_t { Equal, Differs, CannotTell } verdict = Verdict::CannotTell;
  std::string why;                       // it cannot be told, or how the runs ended
  std::string function, binding;         // whose value differs; empty: the results
  std::uint64_t occurrence = 1;          // which of the values of that name, from 1
  std::optional<ValueDifference> first;  // none: a run stopped by itself
  std::size_t compared = 0;              // values that agreed
  std::size_t only_left = 0, only_right = 0;
};
// Becomes the debugger's pair of runs if they differ; the second one is the present run.
using ToleranceOf = std::function<runtime::Tolerance(runtime::DType)>;
Lockstep run_in_lockstep(Debugger& debugger, Side left, Side right, const ToleranceOf& tolerance);

// The present run again, on other arguments: up to the same place, reached as often as it was. Becomes the second run
// of the pair, and the present one.
struct Rerun {
  StopReport stop;
  bool arrived = false;      // at the same place
  std::uint64_t times = 1;   // how often the place had been reached
  std::size_t compared = 0;  // names of the frame that both have
  std::vector<ValueDifference> differences;
  // Changes by commands in the run before that are not in this one: "`skip` at time 7".
  std::vector<std::string> left_out = {};
  // The times of the others, there and here.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> repeated = {};
};
// Values that were set are set again, where the run comes to the same place and has a tensor of the same type there.
// Nullopt: diagnosed.
std::optional<Rerun> rerun(Debugger& debugger, std::string label, std::span<const runtime::Value> args,
                           source::Diagnostics& out);

// Runs of other ranks: each waits under its number, stopped where it was left.
//
// The present run waits under `own` from now on, and the one that waits under `other` is the present one. False: none
// waits there.
bool exchange_run(Debugger& debugger, int own, int other);
// The present run waits under `own`, and a run of the same function on other arguments, stopped at the same place, is
// the present one; if it does not come to that place, as it ended. Nullopt: diagnosed.
// `begins`: called before the other run begins.
std::optional<Rerun> begin_beside(Debugger& debugger, int own, std::span<const runtime::Value> args,
                                  const std::function<void()>& begins, source::Diagnostics& out);

// The pair: labels of both runs, and which is the present one (0 or 1). Nullopt: there is none.
struct Pair {
  std::string labels[2];
  int present = 0;
};
std::optional<Pair> pair_of(const Debugger& debugger);
// False: there is no pair.
bool select_side(Debugger& debugger, int side);

}  // namespace rldb::debug
