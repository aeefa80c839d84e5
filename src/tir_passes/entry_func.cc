// AnnotateEntryFunc: marks the PrimFunc that the host calls: the only function, or the only public one.
#include "rldb/ir/attr_name/kernel.h"
#include "rldb/tir_passes/prim_funcs.h"

namespace rldb::passes {

using namespace ir;

namespace {

bool is_public(const Expr* function) {
  if (const auto* f = as<PrimFunc>(function)) return !f->is_private();
  const auto* f = as<Function>(function);
  return f && !f->is_private();
}

}  // namespace

Result<const Module*> annotate_entry_func(PassEnv& env, const Module* module, const NoOptions&) {
  const ModuleEntry* entry = nullptr;
  int many = 0;
  for (const ModuleEntry& e : module->entries) {
    if (module->entries.size() > 1 && !is_public(e.function)) continue;
    ++many;
    entry = &e;
  }
  const auto* f = many == 1 ? as<PrimFunc>(entry->function) : nullptr;
  if (!f || is_set(f->attrs, attr_name::IsEntryFunc)) return module;
  ModuleBuilder builder(env.ctx, *module);
  builder.set(entry->name, with_attr(env.ctx, f, attr_name::IsEntryFunc, env.ctx.attr(true)));
  return builder.build();
}

}  // namespace rldb::passes
