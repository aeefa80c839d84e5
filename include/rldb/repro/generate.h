// Random programs whose results are defined: valid, within the domains of their operators, free of NaN.
//
// A program is made binding by binding. For each operator a solver (src/repro/fuzz/solver.def) chooses operands among
// the values there are, attributes and shapes, so that type inference accepts the call and its result is defined for
// all inputs that a session generates and for all symbolic dims from 1 on: every value has bounds, an operand outside
// of the operator's domain is cut by `R.clip`, and what jumps (`R.floor`, `R.argmax`) gets operands without rounding.
// The same seed gives the same program. Source: NNSmith (Liu et al., ASPLOS 2023). Users: fuzz, tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/ir/op_traits.h"
#include "rldb/session/session.h"

namespace rldb::repro {

struct GenerateOptions {
  std::size_t bindings = 0;       // about as many; 0: 3 to 14
  std::vector<op::Id> operators;  // only these, and what their operands need; empty: all, and kernels, calls, branches
};

struct Generated {
  std::uint64_t seed = 0;
  std::string text;                         // TVMScript, constants included
  const ir::Module* module = nullptr;       // as the front end reads it; its function is `main`
  std::int64_t dim = 0;                     // of symbolic dims, for which its inputs are made
  double error = 0;                         // absolute, that rounding may make between correct compilations
  std::vector<std::string_view> operators;  // called, in order
  std::size_t solved = 0, refused = 0;      // calls that type inference accepted and refused
  std::vector<std::string> why_refused;
};

// nullopt: this seed gives no program.
std::optional<Generated> generate(session::Session& session, std::uint64_t seed, const GenerateOptions& options = {});
// The arguments of `main`, by name: the same on every machine.
std::vector<std::pair<std::string, runtime::Value>> inputs_of(session::Session& session, const Generated& program);

// Full names of the operators that have a solver, and for others the reason that they have none.
std::vector<std::string_view> generated_operators();
std::string_view not_generated_because(std::string_view name);

}  // namespace rldb::repro
