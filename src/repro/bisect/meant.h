// TVM passes that by their nature may change results. Room-private.
#pragma once

#include <cstdint>
#include <string_view>

#include "rldb/session/session.h"

namespace rldb::repro {

enum class Meant : std::uint8_t { Exact, Coarse, Any };
Meant meant_by(std::string_view pass);
// The least exact of a pipeline's passes; none: exact, also if the text is not a pipeline.
Meant meant_by_pipeline(std::string_view passes);

// One function before and after passes, on the same inputs.
struct Changed {
  const ir::Module* before = nullptr;
  const ir::Module* after = nullptr;
  std::string function;              // of `before`
  std::vector<runtime::Value> args;  // it takes
  runtime::Value result_before, result_after;
  bool by_others = false;  // another compiler ran the passes
};

// Whether results that differ may be what such passes make of these. Exact: no.
struct AsMeant {
  enum class Verdict { Yes, No, CannotTell } verdict = Verdict::No;
  std::string why;  // unless Yes
};
AsMeant is_as_meant(session::Session& session, std::string_view passes, const Changed& changed);

}  // namespace rldb::repro
