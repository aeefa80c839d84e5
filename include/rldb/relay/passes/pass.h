// Passes of the Relay VM's compiler: each maps a module to a module, and can be run alone.
//
// The graph may have any form before ToANormalForm. The passes after it require A-normal form: chains of lets whose
// values have variables, constants and names as operands; branches, arms and functions hold chains of their own.
// Pipelines are text, as Relax's: `ToANF,FuseOps(fuse_opt_level=0)`, or a named one (pipeline.def).
// Users: session, repro, ui, tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/relay/ir/text_names.h"
#include "rldb/relay/ops/infer.h"

namespace rldb::relay {

enum class PassId : std::uint8_t;  // pass_id.h

struct PassInfo {
  PassId id;
  std::string_view name;
  std::string_view short_name;
  std::string_view options;  // names of numbers, separated by blanks
  std::string_view doc;
};
const PassInfo& info(PassId id);
std::vector<PassId> all_passes();  // in the compiler's order

struct PipelineInfo {
  std::string_view name;
  std::string_view passes;
  std::string_view doc;
};
std::span<const PipelineInfo> named_pipelines();
// Passes that code generation requires.
inline constexpr std::string_view kMinimumPipeline = "minimum";

struct PassOption {
  std::string_view name;  // as in the pass's row
  std::int64_t value = 0;
};
struct PassInvocation {
  PassId id{};
  std::vector<PassOption> options;
  std::int64_t option(std::string_view name, std::int64_t otherwise) const;
};
std::string to_string(const PassInvocation& p);

// Computes calls of operators for FoldConstant: a pass knows no engine, so its caller provides one.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // The result of a function without parameters: a tensor, or a tuple of tensors.
  virtual runtime::Result<runtime::Value> evaluate(const Function* f) = 0;
};

struct PassEnv {
  Context& ctx;
  source::Diagnostics& out;
  std::string_view entry = "main";  // functions not reachable from it are unused
  TextNames* names = nullptr;       // maintained by passes that make nodes; null: not needed
  Evaluator* evaluator = nullptr;   // null: nothing is evaluated
};

// Null: diagnosed.
const Module* run_pass(const PassInvocation& pass, PassEnv& env, const Module* m);
// nullopt: a pass or an option is unknown, which is diagnosed.
std::optional<std::vector<PassInvocation>> parse_passes(std::string_view text, source::Diagnostics& out);
// The pipeline `minimum`, which skips what is already done.
const Module* prepare_for_vm(PassEnv& env, const Module* m);

// The body of `f` with its parameters replaced, one by one.
const Expr* body_with(Context& ctx, const Function* f, Span<const Var*> params);

// The operator that `e` is a call to; null: none.
const OpInfo* operator_of(const Expr* e);
// Whether this is a function that becomes one kernel.
bool is_primitive(const Function* f);
bool has_attr(const Function* f, std::string_view name);
namespace attr_name {
inline constexpr std::string_view Primitive = "Primitive";
inline constexpr std::string_view Closure = "Closure";
inline constexpr std::string_view ReshapeOnly = "relay.reshape_only";
}  // namespace attr_name
// Attributes of the machine's instructions as operators in the text (attributes.def).
namespace instruction_attr {
inline constexpr std::string_view Dtype = "dtype";
inline constexpr std::string_view ConstShape = "const_shape";
inline constexpr std::string_view IsInput = "is_input";
inline constexpr std::string_view NewShape = "newshape";
}  // namespace instruction_attr

}  // namespace rldb::relay
