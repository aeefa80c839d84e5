// A run of TVM's virtual machine as its instrument saw it, replayed call by call.
//
// The folder has an index in JSON lines, one row for each call (its name, arguments, result, and the arguments that it
// changed), and the tensors in .npz or .safetensors files (docs/formats.md). Each call runs here on the arguments that
// were recorded for it, whatever the calls before it gave: so the first call that differs is wrong by itself. Users:
// the commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/tensor_difference.h"
#include "rldb/session/session.h"

namespace rldb::repro {

// Calls of one function that were not compared, for one reason.
struct SkippedCalls {
  std::string name, why;
  std::size_t calls = 0;
  bool computes = false;  // tensors: the run may be wrong there
};

struct RecordedDifference {
  std::size_t call = 0;  // its number in the index, from 0
  std::size_t line = 0;  // of the index
  std::string name;
  std::vector<std::string> arguments;   // in short
  std::optional<std::size_t> argument;  // the one that was written; nullopt: the result
  TensorDifference difference;          // the record is the first side
  // To run it once more: a module, its function, the arguments, and these values in their places afterwards.
  const ir::Module* module = nullptr;
  std::string kernel, prim_func;  // the function that passes the arguments on; the kernel behind it, if it is one
  std::vector<runtime::Value> before;
  std::vector<runtime::Value> ours;      // after the call
  std::vector<runtime::Value> recorded;  // after the call
};

// Calls of one function that were compared.
struct ReplayedCalls {
  std::string name;
  std::size_t calls = 0, different = 0;
};

struct RecordedReplay {
  enum class Verdict { Agree, Differs, CannotTell } verdict = Verdict::CannotTell;
  std::string why;  // why it cannot tell
  std::size_t calls = 0, compared = 0, kernels = 0, kernel_calls = 0;
  std::size_t without_values = 0;  // calls that allocate, check or return nothing
  std::vector<ReplayedCalls> replayed;
  std::vector<SkippedCalls> skipped;
  std::vector<SkippedCalls> ours;  // our compiled kernel is wrong there: the evaluator agrees with the record
  std::vector<std::pair<std::string, std::string>> renamed;  // a kernel that has another name here
  std::optional<RecordedDifference> first;
  double largest = 0;  // absolute difference of floats that agree, and where
  std::string largest_in;
  std::string made_by;  // the passes that made the kernels; empty: they are the module's own
};

struct ReplayOptions {
  Tolerances tolerances;
  // Kernels are looked for in the module, and then in what rldb's own pipelines make of it; false: in the module only.
  bool lower = true;
  bool made_by_rldb = false;  // the module's kernels: they may be numbered in another order than TVM's
  std::function<void(std::size_t done, std::size_t count, std::string_view what)> progress;
};

// None: the folder cannot be read, which is diagnosed.
std::optional<RecordedReplay> replay_recorded(session::Session& session, const ir::Module* module,
                                              const std::string& folder, const ReplayOptions& options,
                                              source::Diagnostics& out);
// Several lines, without the last line break.
std::string to_string(const RecordedReplay& r);
std::string to_json(const RecordedReplay& r);

}  // namespace rldb::repro
