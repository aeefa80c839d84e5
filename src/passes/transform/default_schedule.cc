// DefaultSchedule(func_name=..., vector_bytes=...): applies the default schedule of PrimFuncs (room schedule), which
// the JIT would otherwise apply unseen. The result is marked `tirx.is_scheduled` and emitted as written. Without
// func_name it applies to all PrimFuncs; vector_bytes is 16, 32 or 64, and defaults to that of this machine.
#include <fmt/format.h>

#include "passes/common.h"
#include "rldb/passes/rewrite_counter.h"
#include "rldb/schedule/schedule.h"
#include "rldb/source/diagnostic_pass_option.h"

namespace rldb::passes {

using namespace ir;

Result<const Module*> default_schedule(PassEnv& env, const Module* module, const PassOptions& options) {
  const PassOption* only = find_option(options, 0, "func_name");
  const PassOption* bytes = find_option(options, 1, "vector_bytes");
  schedule::Options wanted;
  const std::int64_t given = int_option(options, 1, "vector_bytes", 0);
  if (bytes && given != 16 && given != 32 && given != 64)
    return support::Failure(source::message(diag::PassOptionValue, "vector_bytes", "16, 32 or 64", bytes->value));
  wanted.vector_bytes = unsigned(given);
  const std::string_view name = only ? unquote(only->value) : std::string_view();
  if (only && !as<PrimFunc>(module->find(name)))
    return support::Failure(source::message(diag::PassOptionValue, "func_name", "the name of a PrimFunc", only->value));

  ModuleBuilder builder(env.ctx, *module);
  bool changed = false;
  for (const ModuleEntry& entry : module->entries) {
    const auto* f = as<PrimFunc>(entry.function);
    if (!f || (only && entry.name != name)) continue;
    const PrimFunc* made = schedule::default_schedule(env.ctx, f, wanted).func;
    if (made == f || !may_rewrite([&] { return fmt::format("`{}` is scheduled", entry.name); })) continue;
    builder.set(entry.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
