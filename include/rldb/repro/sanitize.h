// What a written-down run shows that no correct program does: memory read after it was given to another tensor, or
// before anything was written there, and the first NaN or infinity that came out of finite numbers.
//
// Accesses out of bounds are the engines' to find (checked code is the default). Users: run, bisect.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/repro/trace.h"

namespace rldb::repro {

struct Sanitizers {
  bool storage = false;
  bool unwritten = false;
  bool nan = false;
  bool any() const { return storage || unwritten || nan; }
};
// `storage,uninit,nan`; nullopt: `wrong` is the word that is none of them.
std::optional<Sanitizers> parse_sanitizers(std::string_view text, std::string& wrong);

struct Finding {
  enum class Kind { Storage, Unwritten, Nan } kind{};
  std::string function;
  std::string reader;         // the tensor that is being computed, or "return"
  std::string reader_callee;  // by this
  std::string text;           // its binding
  std::string tensor;         // what is read (Nan: what is computed)
  std::string writer;         // Storage: the other tensor, what wrote it and the binding of that
  std::string writer_callee;
  std::string writer_text;
  std::string storage;
  std::string allocation;  // the two tensors as they were allocated in the storage
  std::string writer_allocation;
  std::vector<std::int64_t> element;  // Nan
  double value = 0;
};

// In the order of execution.
std::vector<Finding> sanitize(const Trace& trace, const Sanitizers& which);
std::string to_string(const Finding& f);

}  // namespace rldb::repro
