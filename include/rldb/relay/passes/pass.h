// Passes of the Relay VM's compiler: each takes a module to a module, and can be run alone.
//
// Those from FuseOps on want A-normal form, as ToANormalForm makes it: chains of lets whose values have variables,
// constants and names as operands; branches, arms and functions hold chains of their own.
// Users: relay/run, ui, tests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/relay/ir/text_names.h"
#include "rldb/relay/ops/infer.h"

namespace rldb::relay {

enum class PassId : std::uint8_t {
#define RLDB_RELAY_PASS(Id, name, short_name, doc) Id,
#include "rldb/relay/passes/pass.def"
};

struct PassInfo {
  PassId id;
  std::string_view name;
  std::string_view short_name;
  std::string_view doc;
};
const PassInfo& info(PassId id);
std::vector<PassId> all_passes();  // in the compiler's order

struct PassEnv {
  Context& ctx;
  source::Diagnostics& out;
  std::string_view entry = "main";  // what it does not reach is unused
  TextNames* names = nullptr;       // kept up by passes that make variables; null: nobody wants them
};

// Null: diagnosed.
const Module* run_pass(PassId id, PassEnv& env, const Module* m);
// `ToANF,LambdaLift`. Nothing: a name is unknown, which is diagnosed.
std::optional<std::vector<PassId>> parse_passes(std::string_view text, source::Diagnostics& out);
// All of them.
const Module* prepare_for_vm(PassEnv& env, const Module* m);

// The body of `f` with its parameters replaced, one by one.
const Expr* body_with(Context& ctx, const Function* f, Span<const Var*> params);

// Is this a function that becomes one kernel?
bool is_primitive(const Function* f);
bool has_attr(const Function* f, std::string_view name);
namespace attr_name {
inline constexpr std::string_view Primitive = "Primitive";
inline constexpr std::string_view Closure = "Closure";
inline constexpr std::string_view ReshapeOnly = "relay.reshape_only";
}  // namespace attr_name

}  // namespace rldb::relay
