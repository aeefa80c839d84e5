// Passes of the Relay VM's compiler: each maps a module to a module, and can be run alone.
//
// The graph may have any form before ToANormalForm. The passes after it require A-normal form: chains of lets whose
// values have variables, constants and names as operands; branches, arms and functions hold chains of their own.
// Pipelines are text, as Relax's: `ToANF,FuseOps(fuse_opt_level=0)`, or a named one (pipeline.def).
// Users: session, repro, ui, tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/pipeline/run.h"
#include "rldb/relay/ir/text_names.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/support/entry_function.h"

namespace rldb::relay {

enum class PassId : std::uint8_t;  // pass_id.h

using pipeline::NoOptions;
using pipeline::to_string;
using PassInvocation = pipeline::Invocation;
using PassRecord = pipeline::Record;

struct PassEnv;
struct PassInfo : pipeline::PassRow {
  PassId id{};
  const Module* (*run)(PassEnv& env, const Module* m, const pipeline::Arguments& arguments) = nullptr;
};
const PassInfo& info(PassId id);
inline const PassInfo& info(const PassInvocation& p) { return static_cast<const PassInfo&>(*p.pass); }
// Passes in the compiler's order, and named pipelines.
const pipeline::PassTable& pass_table();
// Passes that code generation requires.
inline constexpr std::string_view kMinimumPipeline = "minimum";

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
  std::string_view entry = support::kEntryFunction;  // functions not reachable from it are unused
  TextNames* names = nullptr;                        // maintained by passes that make nodes; null: not needed
  Evaluator* evaluator = nullptr;                    // null: nothing is evaluated
};

// Each result has types; what has none is refused.
class TypeCheck : public pipeline::Instrument {
 public:
  explicit TypeCheck(PassEnv& env) : env_(env) {}
  pipeline::Result<support::Unit> after(const PassRecord& record) override;

 private:
  PassEnv& env_;
};

// Null: diagnosed.
const Module* run_pass(PassEnv& env, const Module* m, const PassInvocation& pass);
const Module* run_pipeline(PassEnv& env, const Module* m, const std::vector<PassInvocation>& passes,
                           const pipeline::Instruments& instruments);
// The pipeline `minimum`, which skips what is already done.
const Module* prepare_for_vm(PassEnv& env, const Module* m);
// Functions that only one of the two has, or that differ between them.
std::vector<std::string> changed_functions(const Module* before, const Module* after);

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
