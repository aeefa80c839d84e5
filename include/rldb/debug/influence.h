// The other way round from `why`: what the present value of an element reached since it was written, call by call, up
// to the present time of the run.
//
// Bytes are followed: views, aliases, in-place kernels, functions called need no rules of their own. A call that was
// given the bytes and is no kernel is taken to have used them for everything that it wrote. Not followed, which the
// step says: numbers and shapes made from the element, the branches that they decide, objects. User: `:influence`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/debug/debugger.h"

namespace rldb::debug {

// A call that wrote elements which depend on the one asked about.
struct InfluenceStep {
  std::uint64_t time = 0;  // before the call
  std::string callee;
  std::string name;               // what it wrote, with the elements: `b[0:4]`; empty: no memory, see `remark`
  std::int64_t elements = 0;      // how many
  std::vector<std::string> from;  // what it was given that depends on the element
  std::string file;               // of the binding; empty: not known
  std::uint32_t line = 0;
  std::string remark;  // why it may be fewer, or what is not followed
};

struct Influence {
  std::string name, value;                  // of the element
  std::optional<std::uint64_t> written_at;  // none: no call wrote it
  std::string written_by;
  std::vector<InfluenceStep> steps;  // in the order of time
  std::vector<std::string> held;     // names that hold dependent elements at `until`, with these
  std::uint64_t until = 0;
};

// `target`: `x[2, 3]`. Nullopt: diagnosed.
std::optional<Influence> influence_of(Debugger& debugger, std::string_view target, int frame, source::Diagnostics& out);
std::vector<std::string> lines_of(const Influence& influence);

}  // namespace rldb::debug
