// Whether the passes of the Relay VM's compiler preserve a program's values. Two versions run on the same inputs; finds
// the first pass of a pipeline after which the values differ, and which of its rewrites is responsible.
//
// A version may be lowered to any degree: the compiler skips what is already done. Users: ui.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/relay/run/program.h"

namespace rldb::relay_run {

// Functions that only one of the two has, or that differ between them.
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
  std::string why;        // why it is not known
  std::size_t count = 0;  // of passes
  std::size_t index = 0;  // of the pass responsible
  relay::PassInvocation pass;
  std::string symptom;
  const relay::Module* before = nullptr;
  const relay::Module* after = nullptr;  // null: the pass fails
  std::int64_t rewrites = 0;             // of that pass
  std::int64_t rewrite = 0;              // the first responsible one; 0: none is known
  std::string rewrite_text;
  const relay::Module* without = nullptr;  // with one rewrite fewer
  const relay::Module* with = nullptr;
};
std::string to_string(const PassBisection& b);
PassBisection bisect_passes(relay::Context& ctx, const relay::Module* m,
                            const std::vector<relay::PassInvocation>& passes, std::string_view entry,
                            const session::Options& options);

}  // namespace rldb::relay_run
