// Passes: Module -> Module, under TVM's names: rows of pass.def here and in the room tir_passes, run by the room
// pipeline. All that a pass may use is its PassEnv (tir_passes/pass_env.h). Pipelines are text:
// `LegalizeOps,FuseOps(fuse_opt_level=1),DeadCodeElimination(entry_functions=[main])`, or a named one (`minimum`,
// `zero`, `default`), as in `mlir-opt --pass-pipeline`. Users: session, repro, ui.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/pipeline/history.h"
#include "rldb/tir_passes/pass_env.h"

namespace rldb::passes {

// The rows of both tables by name are in pass_id.h, so that a new row rebuilds few files; registered passes follow
// them.
enum class PassId : std::uint16_t;

enum class PassKind : std::uint8_t { Module, Function, DataflowBlock, PrimFunc };

using pipeline::History;
using pipeline::NoOptions;
using pipeline::to_string;
using PassInvocation = pipeline::Invocation;
using PassRecord = pipeline::Record;
using PipelineInfo = pipeline::NamedPipeline;

using PassFn = ir::Result<const ir::Module*> (*)(PassEnv& env, const ir::Module* module,
                                                 const pipeline::Arguments& arguments);

struct PassInfo : pipeline::PassRow {
  PassId id{};
  PassKind kind{};
  PassFn run = nullptr;
};
const std::vector<PassInfo>& all_passes();
const PassInfo& info(PassId id);
inline const PassInfo& info(const PassInvocation& p) { return static_cast<const PassInfo&>(*p.pass); }
const PassInfo* find_pass(std::string_view name);
std::span<const PipelineInfo> named_pipelines();
// The same, for the parser of pipelines.
const pipeline::PassTable& pass_table();

// Unknown passes and options are diagnosed with the nearest spelling.
ir::Result<std::vector<PassInvocation>> parse_pipeline(std::string_view text);
// One pass with its defaults.
std::vector<PassInvocation> pipeline_of(PassId pass);

// A pass that leaves a malformed module is refused, with the rule that it breaks.
class Verification : public pipeline::Instrument {
 public:
  explicit Verification(PassEnv& env) : env_(env) {}
  pipeline::Result<support::Unit> after(const PassRecord& record) override;

 private:
  PassEnv& env_;
};

// The names of functions added, removed or changed.
std::vector<std::string> changed_functions(const ir::Module* before, const ir::Module* after);

// Runs in order; stops at the first failure, which names the pass. Verification is the last instrument.
struct RunOptions {
  bool verify_each = true;
  pipeline::Instruments instruments = {};
};
ir::Result<const ir::Module*> run_pipeline(PassEnv& env, const ir::Module* module,
                                           const std::vector<PassInvocation>& pipeline, const RunOptions& options = {});

}  // namespace rldb::passes
