// The table of passes and pipelines, and the runner over Relay modules.
#include <algorithm>

#include "relay/passes/common.h"
#include "rldb/frontend/written_value.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/passes/pass_id.h"
#include "rldb/relay/passes/pass_options.h"
#include "rldb/source/diagnostic_pipeline.h"

namespace rldb::relay {

using source::message;
using support::Failure;

// One function per row.
#define RLDB_RELAY_PASS(Id, name, short_name, Options, doc) \
  const Module* run_##Id(PassEnv& env, const Module* m, const Options& options);
#include "rldb/relay/passes/pass.def"

namespace {

template <class Options, auto Pass>
const Module* run_with(PassEnv& env, const Module* m, const pipeline::Arguments& arguments) {
  return Pass(env, m, pipeline::read_options<Options>(arguments));
}

const std::vector<PassInfo>& table() {
  static const std::vector<PassInfo> rows = {
#define RLDB_RELAY_PASS(Id, name, short_name, Options, doc) \
  {{name, short_name, pipeline::options_of<Options>(), doc}, PassId::Id, &run_with<Options, &run_##Id>},
#include "rldb/relay/passes/pass.def"
  };
  return rows;
}

constexpr pipeline::NamedPipeline kPipelines[] = {
#define RLDB_RELAY_PIPELINE(name, passes, doc) {name, passes, doc},
#include "rldb/relay/passes/pipeline.def"
};

class RelayPasses : public pipeline::PassTable {
 public:
  std::vector<const pipeline::PassRow*> passes() const override {
    std::vector<const pipeline::PassRow*> rows;
    for (const PassInfo& p : table()) rows.push_back(&p);
    return rows;
  }
  const pipeline::PassRow* find(std::string_view name) const override {
    for (const PassInfo& p : table())
      if (name == p.name || (!name.empty() && name == p.short_name)) return &p;
    return nullptr;
  }
  std::span<const pipeline::NamedPipeline> pipelines() const override { return kPipelines; }
  pipeline::WrittenValue read_value(std::string_view text) const override { return frontend::read_written_value(text); }
};

class RelayModules : public pipeline::Language {
 public:
  explicit RelayModules(PassEnv& env) : env_(env) {}

  pipeline::Result<pipeline::ModuleRef> apply(const PassInvocation& pass, pipeline::ModuleRef module) override {
    const Module* made = info(pass).run(env_, module.as<Module>(), pass.arguments);
    if (!made) return Failure(message(diag::PassReported));
    return pipeline::ModuleRef(made);
  }
  std::vector<std::string> changed(pipeline::ModuleRef before, pipeline::ModuleRef after) const override {
    return changed_functions(before.as<Module>(), after.as<Module>());
  }

 private:
  PassEnv& env_;
};

}  // namespace

const PassInfo& info(PassId id) { return table()[std::size_t(id)]; }

const pipeline::PassTable& pass_table() {
  static const RelayPasses passes;
  return passes;
}

std::vector<std::string> changed_functions(const Module* before, const Module* after) {
  std::vector<std::string> names;
  for (const Definition& d : after->functions) {
    const Function* old = before->find(d.name->name);
    if (!old || (old != d.function && first_difference(old, d.function))) names.emplace_back(d.name->name);
  }
  for (const Definition& d : before->functions)
    if (!after->find(d.name->name)) names.emplace_back(d.name->name);
  std::sort(names.begin(), names.end());
  return names;
}

pipeline::Result<support::Unit> TypeCheck::after(const PassRecord& record) {
  Typing typing;
  const auto* m = record.after.as<Module>();
  const bool typed = record.after == record.before || infer_types(env_.ctx, m, typing, env_.out);
  if (typed) return support::Unit{};
  return Failure(message(diag::PassVerifyFailed, record.pass.name()));
}

const Module* run_pipeline(PassEnv& env, const Module* m, const std::vector<PassInvocation>& passes,
                           const pipeline::Instruments& instruments) {
  RelayModules language(env);
  auto made = pipeline::run(language, m, passes, instruments);
  if (made.ok()) return made->as<Module>();
  env.out.add({}, std::move(made).error());
  return nullptr;
}

const Module* run_pass(PassEnv& env, const Module* m, const PassInvocation& pass) {
  return run_pipeline(env, m, {pass}, {});
}

const Module* prepare_for_vm(PassEnv& env, const Module* m) {
  static const std::vector<PassInvocation> passes = *pipeline::parse(pass_table(), kMinimumPipeline);
  return run_pipeline(env, m, passes, {});
}

}  // namespace rldb::relay
