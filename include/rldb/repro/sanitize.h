// Faults that a run reveals and no correct program has: memory read after it was given to another tensor, or before
// anything was written there, the first NaN or infinity computed from finite numbers, an access out of bounds,
// integers that do not fit into their dtype, and elements that two GPU threads access without a barrier in between.
//
// The first three are read off a recorded run. For the others kernels run on the evaluator, and for
// integers each is stepped through on copies first. Users: run, bisect.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/repro/compare.h"
#include "rldb/repro/settings.h"

namespace rldb::repro {

std::string sanitizer_names();  // `storage, uninit, ...`
std::string sanitizer_doc();    // each with its meaning
// Some of them, with commas: `nan,bounds`; nullopt: `wrong` is the first word that is not one of them.
std::optional<Sanitizers> parse_sanitizers(std::string_view text, std::string& wrong);
std::string to_string(const Sanitizers& which);

struct Finding {
  // Storage: read after being overwritten. Shared: the kernel that reads it writes to its memory. Resized: a storage
  // has another size than in the version before.
  enum class Kind { Storage, Shared, Unwritten, Nan, Bounds, Overflow, Race, Resized } kind{};
  std::string function;
  std::string reader;         // the tensor being computed, or "return"
  std::string reader_callee;  // by this
  std::string text;           // its binding
  std::string tensor;         // the tensor that is read (Nan: that is computed)
  std::string writer;         // Storage: the other tensor, what wrote it and the binding of that
  std::string writer_callee;
  std::string writer_text;
  std::string storage;
  std::string planner;     // the pass that made the storages; empty: not known
  std::string allocation;  // the two tensors as they were allocated in the storage
  std::string writer_allocation;
  std::vector<std::int64_t> element;  // Nan; Overflow: that is written; Unwritten: the first one that is read; Race
  double value = 0;                   // Nan; Resized: the bytes
  std::string
      statement;      // Overflow: the expression; Unwritten: the statement; Bounds: the engine's message; Race: by whom
  std::string dtype;  // Overflow
  std::string number;  // Overflow: the exact value; Race: why nothing orders the two; Resized: the bytes before
  bool is_about_storage() const { return (kind == Kind::Storage || kind == Kind::Shared) && !storage.empty(); }
};

// In the order of execution.
std::vector<Finding> sanitize(const Trace& trace, const Sanitizers& which);
std::string to_string(const Finding& f);
std::string to_json(const std::vector<Finding>& findings);

struct SanitizedRun {
  Trace trace;
  std::vector<Finding> findings;
};
SanitizedRun run_sanitized(session::Session& session, const Program& program, const Sanitizers& which);

}  // namespace rldb::repro
