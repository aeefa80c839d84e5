// The table behind pass.h: rows of pass.def, other spellings of their names, named pipelines.
#include "passes/common.h"
#include "passes/pass_functions.h"
#include "rldb/passes/pass_id.h"
#include "rldb/passes/register.h"
#include "rldb/support/check.h"

namespace rldb::passes {

namespace {

// Old names of passes that TVM still accepts or that bug reports use.
struct Alias {
  std::string_view alias;
  std::string_view name;
};
constexpr Alias kAliases[] = {
    {"VMBuiltinLower", "LowerRuntimeBuiltin"},
    {"CallTIRRewritePass", "CallTIRRewrite"},
};

// Passes of a pipeline that this build does not have are no part of its text: `:pipeline default` says what will run.
struct NamedPipeline {
  std::string_view name;
  std::string_view wanted;
  std::string_view doc;
  bool complete;  // only offered when every pass exists
};
// RewriteCUDAGraph is left out: TVM runs it for devices that have CUDA graphs only.
// Local functions are lifted first: TVM's own lowering stops at them (VMShapeLower), and a user's module has them.
#define RLDB_LOWERING                                                                               \
  "RewriteDataflowReshape,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory," \
  "LowerAllocTensor,KillAfterLastUse,LowerRuntimeBuiltin,ComputePrimValue,VMShapeLower,AttachGlobalSymbol"
#define RLDB_ZERO "LegalizeOps,AnnotateTIROpPattern,FoldConstant,FuseOps,FuseTIR"
#define RLDB_DISPATCH "LambdaLift,DispatchSampling,DispatchSortScan,"
constexpr NamedPipeline kPipelines[] = {
    {"minimum", "LambdaLift,LegalizeOps," RLDB_LOWERING, "any valid module to what the machine runs", false},
    {"default", RLDB_DISPATCH "LegalizeOps," RLDB_LOWERING, "TVM's default build for a CPU", false},
    {"default_build", RLDB_DISPATCH "LegalizeOps," RLDB_LOWERING, "another name of `default`", false},
    {"cpu_generic", RLDB_DISPATCH RLDB_ZERO "," RLDB_LOWERING,
     "TVM's pipeline of a CPU target: `zero`, then the lowering of `default`", false},
    {"zero", RLDB_ZERO, "TVM's optimisation pipeline: legalise, fold, fuse", true},
};
#undef RLDB_LOWERING
#undef RLDB_ZERO
#undef RLDB_DISPATCH

// The passes of a comma list that exist; `all` becomes false when one does not.
std::string existing(std::string_view wanted, bool& all) {
  std::string text;
  all = true;
  while (!wanted.empty()) {
    const std::size_t comma = wanted.find(',');
    const std::string_view name = wanted.substr(0, comma);
    wanted = comma == std::string_view::npos ? std::string_view() : wanted.substr(comma + 1);
    if (!find_pass(name)) {
      all = false;
      continue;
    }
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

}  // namespace

namespace {

constexpr std::size_t kMaxRegistered = 100;

// The rows of pass.def, then the passes that were registered. With room for those: a row stays where it is.
std::vector<PassInfo>& table() {
  static std::vector<PassInfo> rows = [] {
    std::vector<PassInfo> out = {
#define RLDB_PASS(Name, Fn, Kind, Options, Doc) {PassId::Name, #Name, PassKind::Kind, Options, Doc, &passes::Fn},
#include "rldb/passes/pass.def"
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
    if (a.alias == name) name = a.name;
  for (const PassInfo& p : all_passes())
    if (p.name == name) return &p;
  return nullptr;
}

const std::vector<PipelineInfo>& named_pipelines() {
  // Texts are built once and live as long as the program.
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> t;
    for (const NamedPipeline& p : kPipelines) {
      bool all = true;
      std::string text = existing(p.wanted, all);
      t.push_back(p.complete && !all ? std::string() : std::move(text));
    }
    return t;
  }();
  static const std::vector<PipelineInfo> pipelines = [] {
    std::vector<PipelineInfo> made;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!texts[i].empty()) made.push_back({kPipelines[i].name, texts[i], kPipelines[i].doc});
    return made;
  }();
  return pipelines;
}

}  // namespace rldb::passes
