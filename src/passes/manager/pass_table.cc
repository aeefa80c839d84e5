// The table behind pass.h: rows of pass.def, alternative spellings of their names, named pipelines.
#include "passes/common.h"
#include "passes/pass_functions.h"
#include "rldb/frontend/written_value.h"
#include "rldb/passes/pass_id.h"
#include "rldb/passes/register.h"
#include "rldb/support/check.h"
#include "rldb/tir_passes/pass_functions.h"

namespace rldb::passes {

namespace {

// Old names of passes that TVM still accepts or that occur in bug reports.
struct Alias {
  std::string_view alias;
  PassId pass;
};
constexpr Alias kAliases[] = {
    {"VMBuiltinLower", PassId::LowerRuntimeBuiltin},
    {"CallTIRRewritePass", PassId::CallTIRRewrite},
    {"UpdateParamStructInfo", PassId::UpdateParamType},
    // TVM has two passes of this name, apart by their modules.
    {"tirx.transform.InlinePrivateFunctions", PassId::InlinePrivatePrimFuncs},
    {"tir.transform.InlinePrivateFunctions", PassId::InlinePrivatePrimFuncs},
};

struct NamedPipeline {
  std::string_view name;
  std::vector<PassId> passes;
  std::string_view doc;
};

std::vector<PassId> joined(std::initializer_list<std::vector<PassId>> parts) {
  std::vector<PassId> all;
  for (const std::vector<PassId>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// RewriteCUDAGraph is left out: TVM runs it only for devices that have CUDA graphs. Local functions are lifted first:
// TVM's own lowering stops at them (VMShapeLower), but user modules have them.
std::vector<NamedPipeline> make_pipelines() {
  using enum PassId;
  const std::vector<PassId> lowering = {
      RewriteDataflowReshape, ToNonDataflow,    RemovePurityChecking, CallTIRRewrite,
      StaticPlanBlockMemory,  LowerAllocTensor, KillAfterLastUse,     LowerRuntimeBuiltin,
      ComputePrimValue,       VMShapeLower,     AttachGlobalSymbol,
  };
  const std::vector<PassId> zero = {LegalizeOps, AnnotateTIROpPattern, FoldConstant, FuseOps, FuseTIR};
  const std::vector<PassId> dispatch = {LambdaLift, DispatchSampling, DispatchSortScan};
  const std::vector<PassId> build = joined({dispatch, {LegalizeOps}, lowering});
  return {
      {"minimum", joined({{LambdaLift, LegalizeOps}, lowering}),
       "lowers any valid module to the form that the VM runs"},
      {"default", build, "TVM's default build for a CPU"},
      {"default_build", build, "another name of `default`"},
      {"cpu_generic", joined({dispatch, zero, lowering}),
       "TVM's pipeline of a CPU target: `zero`, then the lowering of `default`"},
      {"gpu_generic", joined({dispatch, zero, {ApplyDefaultSchedule}, lowering}),
       "TVM's pipeline of a GPU target, with one of its rules for schedules: kernels run in GPU threads"},
      {"zero", zero, "TVM's optimisation pipeline: legalise, fold, fuse"},
  };
}

std::string text_of(const std::vector<PassId>& pipeline) {
  std::string text;
  for (const PassId pass : pipeline) text += (text.empty() ? "" : ",") + std::string(info(pass).name);
  return text;
}

}  // namespace

namespace {

constexpr std::size_t kMaxRegistered = 100;

#define RLDB_PASS_ROW(Name, Fn, Kind, Options, Doc) \
  {{#Name, {}, pipeline::options_of<Options>(), Doc}, PassId::Name, PassKind::Kind, &run_with<Options, &passes::Fn>},

// The rows of both tables, then the registered passes. Capacity for those is reserved: a row never moves.
std::vector<PassInfo>& table() {
  static std::vector<PassInfo> rows = [] {
    std::vector<PassInfo> out = {
#define RLDB_PASS RLDB_PASS_ROW
#include "rldb/passes/pass.def"
#define RLDB_PASS RLDB_PASS_ROW
#include "rldb/tir_passes/pass.def"
    };
    out.reserve(out.size() + kMaxRegistered);
    return out;
  }();
  return rows;
}

}  // namespace

const std::vector<PassInfo>& all_passes() { return table(); }

const PassInfo& register_pass(PassInfo pass) {
  const std::string name(pass.name);
  RLDB_CHECK(!name.empty() && pass.run, "a pass that is registered has a name and a function");
  RLDB_CHECK(!find_pass(name), "there is a pass `" + name + "` already");
  RLDB_CHECK(table().size() < table().capacity(), "too many passes are registered");
  pass.id = PassId(table().size());
  return table().emplace_back(pass);
}

const PassInfo& info(PassId id) { return all_passes()[std::size_t(id)]; }

const PassInfo* find_pass(std::string_view name) {
  for (const Alias& a : kAliases)
    if (a.alias == name) return &info(a.pass);
  for (const PassInfo& p : all_passes())
    if (p.name == name) return &p;
  return nullptr;
}

std::span<const PipelineInfo> named_pipelines() {
  // Built once; the texts live as long as the program.
  static const std::vector<NamedPipeline> rows = make_pipelines();
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made;
    for (const NamedPipeline& p : rows) made.push_back(text_of(p.passes));
    return made;
  }();
  static const std::vector<PipelineInfo> pipelines = [] {
    std::vector<PipelineInfo> made;
    for (std::size_t i = 0; i < rows.size(); ++i) made.push_back({rows[i].name, texts[i], rows[i].doc});
    return made;
  }();
  return pipelines;
}

namespace {

// Why the pass is absent; empty when TVM does not have it either.
std::string_view why_absent(std::string_view name) {
  struct Row {
    std::string_view name;
    std::string_view reason;
  };
  constexpr Row kRows[] = {
#define RLDB_ABSENT_PASS(Name, Reason) {Name, Reason},
#include "rldb/passes/absent_pass.def"
  };
  for (const Row& r : kRows)
    if (r.name == name) return r.reason;
  return {};
}

class RelaxPasses : public pipeline::PassTable {
 public:
  std::vector<const pipeline::PassRow*> passes() const override {
    std::vector<const pipeline::PassRow*> rows;
    for (const PassInfo& p : all_passes()) rows.push_back(&p);
    return rows;
  }
  const pipeline::PassRow* find(std::string_view name) const override { return find_pass(name); }
  std::span<const PipelineInfo> pipelines() const override { return named_pipelines(); }
  std::string_view absence_of(std::string_view name) const override { return why_absent(name); }
  pipeline::WrittenValue read_value(std::string_view text) const override { return frontend::read_written_value(text); }
};

}  // namespace

const pipeline::PassTable& pass_table() {
  static const RelaxPasses table;
  return table;
}

}  // namespace rldb::passes
