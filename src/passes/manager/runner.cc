// Runs pipelines: times, compares, verifies and reports each application.
#include <fmt/format.h>

#include <chrono>

#include "passes/common.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/verifier.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/support/text.h"

namespace rldb::passes {

using source::message;
using source::Message;
using support::Failure;

namespace {

// Names of functions added, removed or changed. Versions share unchanged functions, so pointers settle most cases; a
// pass that rebuilt an equal function did not change it.
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

Message name_pass(Message m, std::string_view pass) {
  m.text = "pass `" + std::string(pass) + "`: " + m.text;
  return m;
}

ir::Result<const ir::Module*> run_one(PassEnv& env, const ir::Module* module, const PassInvocation& p) {
  const PassInfo& pass = info(p.id);
  const std::size_t errors = env.diagnostics.error_count();
  ir::Result<const ir::Module*> result = pass.run(env, module, p.options);
  if (!result.ok()) return Failure(name_pass(std::move(result).error(), pass.name));
  if (env.diagnostics.error_count() != errors) return Failure(message(diag::PassReported, pass.name));
  return result;
}

// Lowering creates impure calls, and users also run it on pure functions by itself, to inspect the result: that
// deserves a warning, once. Any other rule broken by a pass is an error.
bool verify_result(PassEnv& env, const PassInfo& pass, const ir::Module* before, const ir::Module* after) {
  ir::ImpureCalls calls;
  ir::VerifyOptions options;
  options.impure_calls = &calls;
  if (!ir::verify(env.ctx, after, env.diagnostics, options)) return false;
  source::Diagnostics earlier;
  if (calls.count > 0 && ir::verify(env.ctx, before, earlier)) {
    const std::string made = support::counted(calls.count, "impure call");
    env.diagnostics.add(calls.first, message(diag::PassMadeImpureCalls, pass.name, made));
  }
  return true;
}

}  // namespace

ir::Result<const ir::Module*> run_pipeline(PassEnv& env, const ir::Module* module,
                                           const std::vector<PassInvocation>& pipeline, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  int count = 0;
  for (const PassInvocation& p : pipeline) {
    if (options.bisect_limit >= 0 && count >= options.bisect_limit) break;
    if (options.before && !options.before(p, module)) continue;
    ++count;
    PassRecord record;
    record.pass = p;
    record.before = module;
    const Clock::time_point start = Clock::now();
    ir::Result<const ir::Module*> result = run_one(env, module, p);
    record.nanoseconds =
        std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
    if (result.ok()) {
      record.after = *result;
      if (*result != module) record.changed = changed_functions(module, *result);
    }
    if (options.after) options.after(record);
    if (!result.ok()) return result;
    if (options.verify_each && *result != module && !verify_result(env, info(p.id), module, *result))
      return Failure(message(diag::PassVerifyFailed, info(p.id).name));
    module = *result;
  }
  return module;
}

}  // namespace rldb::passes
