// DefaultSchedule(func_name=..., vector_bytes=...): applies the default schedule of PrimFuncs (room schedule), which
// the JIT would otherwise apply unseen. The result is marked `tirx.is_scheduled` and emitted as written. Without
// func_name it applies to all PrimFuncs; vector_bytes is 16, 32 or 64, and defaults to that of this machine.
#include <fmt/format.h>

#include "passes/common.h"
#include "rldb/passes/pass_options.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/schedule/schedule.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;

Result<const Module*> default_schedule(PassEnv& env, const Module* module, const DefaultScheduleOptions& options) {
  const pipeline::option::MaybeText& only = options.func_name;
  schedule::Options wanted;
  const std::int64_t given = options.vector_bytes.value_or(0);
  if (options.vector_bytes && given != 16 && given != 32 && given != 64)
    return support::Failure(source::message(diag::PassOptionValue, "vector_bytes", "16, 32 or 64", given));
  wanted.vector_bytes = unsigned(given);
  if (only && !as<PrimFunc>(module->find(*only)))
    return support::Failure(source::message(diag::PassOptionValue, "func_name", "the name of a PrimFunc", *only));

  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  for (const ModuleEntry& entry : module->entries) {
    const auto* f = as<PrimFunc>(entry.function);
    if (!f || (only && entry.name != *only)) continue;
    const PrimFunc* made = schedule::default_schedule(env.ctx, f, wanted).func;
    if (made == f || !may_rewrite([&] { return fmt::format("`{}` is scheduled", entry.name); })) continue;
    builder.set(entry.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
