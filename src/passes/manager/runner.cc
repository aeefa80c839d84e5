// Pipelines over Relax and TensorIR modules: text, application, comparison, verification.
#include <algorithm>

#include "passes/common.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/verifier.h"
#include "rldb/passes/option_error.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using source::message;
using support::Failure;

// Versions share unchanged functions, so pointers settle most cases; a pass that rebuilt an equal function did not
// change it.
std::vector<std::string> changed_functions(const ir::Module* a, const ir::Module* b) {
  std::vector<std::string> changed;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a->entries.size() || j < b->entries.size()) {
    const bool only_a = j == b->entries.size() || (i < a->entries.size() && a->entries[i].name < b->entries[j].name);
    const bool only_b = !only_a && (i == a->entries.size() || b->entries[j].name < a->entries[i].name);
    if (only_a) {
      changed.emplace_back(a->entries[i++].name);
    } else if (only_b) {
      changed.emplace_back(b->entries[j++].name);
    } else {
      const ir::Expr* before = a->entries[i].function;
      const ir::Expr* after = b->entries[j].function;
      if (before != after && !ir::structural_equal(before, after)) changed.emplace_back(a->entries[i].name);
      ++i;
      ++j;
    }
  }
  return changed;
}

namespace {

class RelaxModules : public pipeline::Language {
 public:
  explicit RelaxModules(PassEnv& env) : env_(env) {}

  pipeline::Result<pipeline::ModuleRef> apply(const PassInvocation& pass, pipeline::ModuleRef module) override {
    const std::size_t errors = env_.diagnostics.error_count();
    RLDB_TRY(const ir::Module* made, info(pass).run(env_, module.as<ir::Module>(), pass.arguments));
    if (env_.diagnostics.error_count() != errors) return Failure(message(diag::PassReported));
    return pipeline::ModuleRef(made);
  }

  std::vector<std::string> changed(pipeline::ModuleRef before, pipeline::ModuleRef after) const override {
    return changed_functions(before.as<ir::Module>(), after.as<ir::Module>());
  }

 private:
  PassEnv& env_;
};

}  // namespace

// Lowering creates impure calls, and users also run it on pure functions by itself, to inspect the result: that
// deserves a warning, once. Any other rule broken by a pass is an error.
pipeline::Result<support::Unit> Verification::after(const PassRecord& record) {
  if (record.after == record.before) return support::Unit{};
  ir::ImpureCalls calls;
  ir::VerifyOptions options;
  options.impure_calls = &calls;
  if (!ir::verify(env_.ctx, record.after.as<ir::Module>(), env_.diagnostics, options)) {
    const std::string written = pipeline::to_string(record.pass);  // options may be why: a dim that does not fit
    auto failed = message(diag::PassVerifyFailed, record.pass.name());
    return Failure(written == record.pass.name() ? std::move(failed)
                                                 : std::move(failed).with_hint("it ran as `" + written + "`"));
  }
  source::Diagnostics earlier;
  if (calls.count > 0 && ir::verify(env_.ctx, record.before.as<ir::Module>(), earlier)) {
    const std::string made = support::counted(calls.count, "impure call");
    env_.diagnostics.add(calls.first, message(diag::PassMadeImpureCalls, record.pass.name(), made));
  }
  return support::Unit{};
}

ir::Result<const ir::Module*> run_pipeline(PassEnv& env, const ir::Module* module,
                                           const std::vector<PassInvocation>& passes, const RunOptions& options) {
  RelaxModules language(env);
  Verification verification(env);
  pipeline::Instruments instruments = options.instruments;
  if (options.verify_each) instruments.push_back(&verification);
  RLDB_TRY(const pipeline::ModuleRef made, pipeline::run(language, module, passes, instruments));
  return made.as<ir::Module>();
}

ir::Result<std::vector<PassInvocation>> parse_pipeline(std::string_view text) {
  auto parsed = pipeline::parse(pass_table(), text);
  if (!parsed.ok()) return Failure(std::move(parsed).error().message);
  return std::move(parsed).value();
}

std::vector<PassInvocation> pipeline_of(PassId pass) { return {{&info(pass), {}}}; }

bool is_option_error(source::DiagId id) {
  constexpr source::DiagId kIds[] = {diag::PassOptionValue,   diag::PassOptionKind, diag::PassPatternForm,
                                     diag::PassCompositeName, diag::PatternSyntax,  diag::PatternUnknown,
                                     diag::PassNoFunction};
  return std::find(std::begin(kIds), std::end(kIds), id) != std::end(kIds);
}

}  // namespace rldb::passes
