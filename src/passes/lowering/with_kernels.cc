#include "passes/lowering/with_kernels.h"

namespace rldb::passes {

const ir::Module* map_with_kernels(PassEnv& env, const ir::Module* module, const KernelFn& map) {
  ir::ModuleBuilder builder(env.ctx, *module);
  KernelMaker kernels{ops::Legalizer(env.ctx, builder), LegalMemo(env.ctx)};
  bool changed = false;
  for (const ir::ModuleEntry& e : module->entries) {
    const auto* f = ir::as<ir::Function>(e.function);
    const ir::Function* made = f ? map(f, kernels) : nullptr;
    if (made == f) continue;
    builder.set(e.name, made);
    changed = true;
  }
  return changed ? builder.build() : module;
}

}  // namespace rldb::passes
