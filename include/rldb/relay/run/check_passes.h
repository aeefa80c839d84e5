// Do the passes of the Relay VM's compiler keep what a program computes? Two versions run on the same inputs; the first
// pass of a pipeline after which the values are others, and which of its rewrites it is.
//
// A version may be lowered as far as one likes: the compiler leaves alone what has been done. Users: ui.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/relay/run/program.h"

namespace rldb::relay_run {

// Functions that one of the two has and the other has not, or has another of.
std::vector<std::string> changed_functions(const relay::Module* before, const relay::Module* after);

struct Validation {
  std::string difference;             // of the first function whose values differ
  std::vector<std::string> compared;  // functions
  std::vector<std::string> not_run;   // with the reason
};
std::string to_string(const Validation& v);
// Functions over tensors that both versions have, at several sizes where dims are `?`.
Validation validate(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
                    const session::Options& options);

struct PassBisection {
  enum class Verdict : std::uint8_t { None, Found, CannotTell };
  Verdict verdict = Verdict::CannotTell;
  std::string why;        // it cannot be told
  std::size_t count = 0;  // of passes
  std::size_t index = 0;  // of the pass that brings it
  relay::PassInvocation pass;
  std::string symptom;
  const relay::Module* before = nullptr;
  const relay::Module* after = nullptr;  // null: the pass fails
  std::int64_t rewrites = 0;             // of that pass
  std::int64_t rewrite = 0;              // the first one that brings it; 0: none is known
  std::string rewrite_text;
  const relay::Module* without = nullptr;  // with one rewrite less
  const relay::Module* with = nullptr;
};
std::string to_string(const PassBisection& b);
PassBisection bisect_passes(relay::Context& ctx, const relay::Module* m,
                            const std::vector<relay::PassInvocation>& passes, std::string_view entry,
                            const session::Options& options);

}  // namespace rldb::relay_run
