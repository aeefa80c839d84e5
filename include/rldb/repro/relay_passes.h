// Whether the passes of the Relay VM's compiler preserve a program's values. Two versions run on the same inputs; finds
// the first pass of a pipeline that introduces a fault, and which of its rewrites is responsible; reduces the program.
//
// A version may be lowered to any degree: the compiler skips what is already done. Users: ui, tests.
#pragma once

#include <string>
#include <vector>

#include "rldb/relay/passes/pass.h"
#include "rldb/repro/bisect.h"
#include "rldb/repro/reduce.h"
#include "rldb/repro/validate.h"
#include "rldb/session/relay_text.h"

namespace rldb::repro {

// Functions over tensors that both versions have, at several sizes where dims are `?`.
Validation validate_relay(relay::Context& ctx, const relay::Module* before, const relay::Module* after,
                          const session::Options& options);

struct RelayBisection {
  enum class Verdict : std::uint8_t { None, Found, CannotTell };
  Verdict verdict = Verdict::CannotTell;
  std::string why;        // why it is not known
  std::size_t count = 0;  // of passes
  std::size_t index = 0;  // of the pass responsible
  relay::PassInvocation pass;
  Symptom symptom;
  const relay::Module* before = nullptr;
  const relay::Module* after = nullptr;  // null: the pass fails
  std::int64_t rewrites = 0;             // of that pass
  std::int64_t rewrite = 0;              // the first responsible one; 0: none is known
  std::string rewrite_text;
  const relay::Module* without = nullptr;  // with one rewrite fewer
  const relay::Module* with = nullptr;
};
std::string to_string(const RelayBisection& b);
std::string to_json(const RelayBisection& b);
// Of the program's present version.
RelayBisection bisect_relay(session::Session& session, const session::RelayText& program,
                            const std::vector<relay::PassInvocation>& passes, const Question& question,
                            const BisectProgress& progress = {});

// The smallest version of the program found that these passes break in the same way.
struct RelayReduction : ReductionFacts {
  const relay::Module* module = nullptr;  // null: there is no symptom to keep
};
RelayReduction reduce_relay(session::Session& session, const session::RelayText& program,
                            const std::vector<relay::PassInvocation>& passes, const Question& question,
                            const ReduceOptions& options);

}  // namespace rldb::repro
